# SPDX-License-Identifier: Apache-2.0
"""The tests' own certificates, by openssl: a CA, and the certificates that it signs."""
import ctypes
import os
import subprocess


def openssl(*arguments: str, text: str | None = None) -> str:
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True, check=True, timeout=60).stdout


class Authority:
    """A CA in FOLDER. Its keys are of elliptic curves, which are made quickly."""

    def __init__(self, folder: str, name: str):
        self.folder, self.name = folder, name
        self.cert = os.path.join(folder, name + ".pem")
        self.key = os.path.join(folder, name + ".key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                "/CN=" + name, "-keyout", self.key, "-out", self.cert)

    def sign(self, name: str, subject: str, san: str = "", usage: str = "serverAuth", ended: bool = False,
             ends: str = "20200102000000Z", rsa: bool = False) -> tuple[str, str]:
        """Makes a certificate and its key; returns their paths. ENDED: it has expired, or expires at ENDS. RSA: with a key of 2,048 bits."""
        cert, key, request = (os.path.join(self.folder, name + end) for end in (".pem", ".key", ".csr"))
        extensions = f"extendedKeyUsage={usage}\n" + (f"subjectAltName={san}\n" if san else "")
        with open(request + ".ext", "w", encoding="utf-8") as f:
            f.write(extensions)
        kind = ["rsa:2048"] if rsa else ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        openssl("req", "-new", "-newkey", *kind, "-nodes", "-subj", subject, "-keyout", key, "-out", request)
        if ended:
            database = os.path.join(self.folder, name + ".ca")
            os.makedirs(database)
            open(database + "/index.txt", "w", encoding="utf-8").close()
            config = database + "/ca.cnf"
            with open(config, "w", encoding="utf-8") as f:
                f.write(f"[ca]\ndefault_ca=d\n[d]\ndatabase={database}/index.txt\nnew_certs_dir={database}\nrand_serial=yes\n"
                        "default_md=sha256\npolicy=p\n[p]\ncommonName=optional\n")
            openssl("ca", "-batch", "-config", config, "-cert", self.cert, "-keyfile", self.key, "-in", request, "-out", cert, "-notext",
                    "-startdate", "20200101000000Z", "-enddate", ends, "-extfile", request + ".ext")
        else:
            openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", "1", "-extfile",
                    request + ".ext", "-out", cert)
        os.chmod(key, 0o600)
        return cert, key


def bcrypt(password: str, cost: int) -> str:
    """Returns a hash of PASSWORD, by libxcrypt."""
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = library.crypt_gensalt.restype = ctypes.c_char_p
    salt = library.crypt_gensalt(b"$2b$", ctypes.c_ulong(cost), None, 0)
    return library.crypt(password.encode(), salt).decode()
