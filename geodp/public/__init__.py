"""What may cross the border between the trusted side and the server: releases, promises, laws of noise, messages."""
