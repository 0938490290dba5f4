"""The governed call: decided, carried out once, bounded and recorded (DESIGN.md section 10)."""
