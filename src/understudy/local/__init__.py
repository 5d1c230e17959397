"""Nobody is trusted: each person's answer is randomised on her own device before it is sent."""
