"""Makes the cookie of docs/sign-in.md: python3 cookie.py KEY_FILE SITE USER SECONDS."""
import base64, hashlib, hmac, sys, time

key_file, site, user, seconds = sys.argv[1:]
key = open(key_file, "rb").read().strip()
text = f"{user}.{int(time.time()) + int(seconds)}"
mac = hmac.new(key, f"{site}\n{text}".encode(), hashlib.sha256).digest()
print(text + "." + base64.urlsafe_b64encode(mac).decode().rstrip("="))
