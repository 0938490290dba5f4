"""An example ops agent: a model, the tools that remit grants it, and a check of every figure in its answer."""
