"""The mathematics, encoders and machinery behind *The Limits of Binding*."""

__version__ = "0.1.0"
