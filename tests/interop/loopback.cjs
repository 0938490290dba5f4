// server-everything listens on every address, and one of its tools returns the whole environment: a test must not offer
// that to a network. Loaded before it (node --require), this moves what listens to loopback and prints its port, so that
// PORT=0 can be used and no two tests race for a number.
const { Server } = require("node:net");
const listen = Server.prototype.listen;

Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.log(`listening on ${this.address().port}`));
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...rest);
};
