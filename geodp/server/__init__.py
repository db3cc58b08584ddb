"""The untrusted server: sees releases and answers only, and assigns tasks from them."""
