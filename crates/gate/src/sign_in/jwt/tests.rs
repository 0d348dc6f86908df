//! Tokens of the RFCs and of another implementation, and every way to change one.

use hmac::Hmac;
use hmac::Mac;
use proptest::prelude::*;
use sha2::Sha256;

use super::*;
use crate::sign_in::Verifier;
use crate::sign_in::keys::Algorithm;

const NOW: u64 = 1_900_000_000;
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// RFC 7515, A.1 to A.3: the same payload, at a time when it had not expired.
const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const JOE: u64 = 1_300_819_000;
const RFC: [(Algorithm, &str, &str, &str); 3] = [
    (
        Algorithm::Hs256,
        r#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#,
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    ),
    (
        Algorithm::Rs256,
        r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#,
        "eyJhbGciOiJSUzI1NiJ9",
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
    ),
    (
        Algorithm::Es256,
        r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#,
        "eyJhbGciOiJFUzI1NiJ9",
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    ),
];

/// Made by Node.js, with public keys as `openssl pkey -pubout` writes them.
const MADE: [(Algorithm, &str, &str); 3] = [
    (
        Algorithm::Rs256,
        "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6MTkwMDAwMzYwMCwibmJmIjoxODk5OTk5MDAwLCJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOlsic2hvcCIsIndpa2kiXX0.UaeNpYT6PC5K9uXhMl8l0yUiUpsa6YXhZh_TyYLWJSDQ22EBVE253czbJ6s5dB7DD58rTj1GrFd7Wd9SbXh1eUnnhspZCPueVUzylUIkmr6Q_0FBMog0KnytehQPR1rT-MX7-z61wggn1JVWre_p7sy99_XwXhI5dAICMyNNc-7WG1-7S-vF-yWM0Iou1ce_rxXJPw1LHwyLVAJ0qirZcYSoFY-8S9hLqWKQGt060pfwfc0zm_qr6ZLLPMlSrX8B7sYI-xD2k1J2EBkG8a-udi0w11zQ9Tm5UFBFKnU0F7OMYo_wzBUAPnw2Q8ujwE6tpCIK_j67tfz1SAFBKCsuGg",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0wG/ZjplRdPY+m0sc5Ms\n1LzLD6RT4QbtX+mqczrp75GY9US+2n4Kj2+brMqUesZPbpIm4yiafMMDOzy1Dc2C\nnwWzgW9HE2eD/sJ3B14m931U31QXL1knfhqLBe4NC6FwVDPD0jOZtvLtD8efnG0v\n45l+b7/NQl1wlZSiARS3wx8wZbJsXsiwTbn+aJCfSiQj4Nty/Jxiu8/I0kF5boWN\n0GI1MhAbCa9YZY4kCkeROwibcqEqDJAB/ADdMr9/Nof9nvlofFE6emq13elZvYlO\nwQnOsyTplnpH3Sv4Ox2ts4U9X/49o/wD+kvopKsiUCcoD+kalAAnbvH/1B1DnMb1\nBQIDAQAB\n-----END PUBLIC KEY-----",
    ),
    (
        Algorithm::Es256,
        "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6MTkwMDAwMzYwMCwibmJmIjoxODk5OTk5MDAwLCJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOlsic2hvcCIsIndpa2kiXX0.xw7fbgMT_F7zPD5TvE3ez8vuQmiT-qPNXjuVBpOPT2vcwQ-XWcrkLEuekl07uTI2CU-wsnzkZtFl1hyluRWJkg",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKtZjZHp44oiceGzjKxiCUktdMSSm\nuCL3OUdpTaeLwSXWlsb0bxMi8Ybji6/9IuFWbi6QMPhP041TrKUQMMd5Ng==\n-----END PUBLIC KEY-----",
    ),
    (
        Algorithm::EdDsa,
        "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6MTkwMDAwMzYwMCwibmJmIjoxODk5OTk5MDAwLCJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOlsic2hvcCIsIndpa2kiXX0.-f8Rai_lFHNRZQsOXODpDG7cjLT1rNjHlYIDiatPIFu3AWlbt5jKAZY05bCfu-Exf8Mms28NiSxzHSPxJJ9wAQ",
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAhdAj9QzlPlNlG/mBdhqn3+40MpaMG7lN1Juh6fHrXvI=\n-----END PUBLIC KEY-----",
    ),
];

fn expected(user: &str) -> Expected {
    Expected {
        user: user.to_owned(),
        issuer: None,
        audience: None,
    }
}

fn hs256(header: &str, payload: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", part(header), part(payload));
    let mac = Hmac::<Sha256>::new_from_slice(SECRET).unwrap();
    let mac = mac.chain_update(&signed).finalize().into_bytes();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
}

fn check(token: &str) -> Result<String, Refused> {
    let verifier = Verifier::Jwt(Keys::secret(&[SECRET]), expected("sub"));
    verifier.user(token.as_bytes(), "www.example.org", NOW)
}

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
const ALICE: &str = r#"{"sub":"alice","exp":1900003600}"#;

#[test]
fn tokens_of_rfc_7515() {
    for (algorithm, key, header, signature) in RFC {
        let keys = Keys::parse(key, algorithm).unwrap();
        let token = format!("{header}.{PAYLOAD}.{signature}");
        let got = user(&token, &keys, &expected("iss"), JOE);
        assert_eq!(got, Ok("joe".to_owned()), "{algorithm:?}");
        let late = user(&token, &keys, &expected("iss"), 1_300_819_500);
        assert_eq!(late, Err(Refused::Expired), "{algorithm:?}");
        let nobody = user(&token, &keys, &expected("sub"), JOE);
        assert_eq!(nobody, Err(Refused::Nameless), "{algorithm:?}");
    }
}

/// RFC 8037, A.4: what it signs is no JSON.
#[test]
fn the_signature_of_rfc_8037() {
    let key = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let keys = Keys::parse(key, Algorithm::EdDsa).unwrap();
    let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
    assert!(keys.verify(None, signed.as_bytes(), &bytes));
    let got = user(
        &format!("{signed}.{signature}"),
        &keys,
        &expected("sub"),
        NOW,
    );
    assert_eq!(got, Err(Refused::Malformed));
}

#[test]
fn tokens_of_another_implementation() {
    for (algorithm, token, pem) in MADE {
        let keys = Keys::parse(pem, algorithm).unwrap();
        let wanted = |issuer: Option<&str>, audience: Option<&str>| Expected {
            user: "sub".to_owned(),
            issuer: issuer.map(str::to_owned),
            audience: audience.map(str::to_owned),
        };
        let got = |wanted: Expected, now: u64| user(token, &keys, &wanted, now);
        let alice = Ok("alice".to_owned());
        assert_eq!(got(wanted(None, None), NOW), alice, "{algorithm:?}");
        let both = wanted(Some("https://id.example"), Some("wiki"));
        assert_eq!(got(both, NOW), alice, "{algorithm:?}");
        for other in [
            wanted(Some("https://id.example/"), None),
            wanted(None, Some("wik")),
        ] {
            assert_eq!(got(other, NOW), Err(Refused::OtherSite), "{algorithm:?}");
        }
        // Two minutes of skew, and no more.
        let all = || wanted(None, None);
        assert_eq!(got(all(), 1_900_003_719), alice);
        assert_eq!(got(all(), 1_900_003_720), Err(Refused::Expired));
        assert_eq!(got(all(), 1_899_998_880), alice);
        assert_eq!(got(all(), 1_899_998_879), Err(Refused::Early));
        // Another key of the same kind has signed nothing of this.
        for (other, _, pem) in MADE.iter().filter(|(other, ..)| *other != algorithm) {
            let error = Keys::parse(pem, algorithm).unwrap_err();
            assert!(error.contains("set algorithm"), "{other:?} {error}");
        }
    }
}

#[test]
fn h088_every_changed_bit_and_every_cut_is_refused() {
    let cheap = [(
        Algorithm::Hs256,
        hs256(HEADER, ALICE),
        Keys::secret(&[SECRET]),
    )];
    let made = MADE.map(|(algorithm, token, pem)| {
        (
            algorithm,
            token.to_owned(),
            Keys::parse(pem, algorithm).unwrap(),
        )
    });
    for (algorithm, token, keys) in cheap.into_iter().chain(made) {
        let verifier = Verifier::Jwt(keys, expected("sub"));
        let passes = |bytes: &[u8]| verifier.user(bytes, "", NOW).is_ok();
        assert!(passes(token.as_bytes()));
        for at in 0..token.len() {
            for bit in 0..8 {
                let mut bytes = token.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert!(!passes(&bytes), "{algorithm:?} {at} {bit}");
            }
            assert!(!passes(&token.as_bytes()[..at]), "{algorithm:?} {at}");
        }
        for changed in [
            format!("{token}="),
            format!("{token}."),
            format!(" {token}"),
            format!("{token}.{token}"),
        ] {
            assert!(!passes(changed.as_bytes()), "{changed}");
        }
    }
}

#[test]
fn h088_tricks_with_the_header() {
    assert_eq!(check(&hs256(HEADER, ALICE)), Ok("alice".to_owned()));
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS512"}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":null}"#,
        r#"{"typ":"JWT"}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":"HS256","b64":false,"crit":["b64"]}"#,
    ] {
        assert_eq!(
            check(&hs256(header, ALICE)),
            Err(Refused::Algorithm),
            "{header}"
        );
    }
    for header in [
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"alg":"HS256","alg":"HS256"}"#,
        r#"{"alg":"HS256","kid":7}"#,
        r#"["HS256"]"#,
        "",
        "HS256",
    ] {
        assert_eq!(
            check(&hs256(header, ALICE)),
            Err(Refused::Malformed),
            "{header}"
        );
    }
    let unsigned = hs256(r#"{"alg":"none"}"#, ALICE);
    let (unsigned, _) = unsigned.rsplit_once('.').unwrap();
    assert!(check(&format!("{unsigned}.")).is_err());
    assert!(check(unsigned).is_err());
}

/// A public key is known to everybody: it must not serve as the secret of an HMAC. A name of a key is no file.
#[test]
fn h088_the_public_key_is_no_secret_and_a_key_id_is_no_file() {
    for (algorithm, _, pem) in MADE {
        let keys = Keys::parse(pem, algorithm).unwrap();
        for secret in [pem.as_bytes(), pem.trim().as_bytes(), b""] {
            let signed = format!(
                "{}.{}",
                URL_SAFE_NO_PAD.encode(HEADER),
                URL_SAFE_NO_PAD.encode(ALICE)
            );
            let mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
            let mac = mac.chain_update(&signed).finalize().into_bytes();
            let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac));
            let got = user(&token, &keys, &expected("sub"), NOW);
            assert_eq!(got, Err(Refused::Algorithm), "{algorithm:?}");
        }
    }
    for kid in ["../../dev/null", "/dev/null", "' OR 1=1", ""] {
        let header = format!(r#"{{"alg":"HS256","kid":"{kid}"}}"#);
        // Signed by the real secret the name does not matter, by the content of that file it does not help.
        assert_eq!(check(&hs256(&header, ALICE)), Ok("alice".to_owned()));
        let signed = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(&header),
            URL_SAFE_NO_PAD.encode(ALICE)
        );
        let mac = Hmac::<Sha256>::new_from_slice(b"").unwrap();
        let mac = mac.chain_update(&signed).finalize().into_bytes();
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac));
        assert_eq!(check(&token), Err(Refused::Signature));
    }
    // With names in the file, only the named key is tried.
    let set =
        r#"{"keys":[{"kty":"oct","kid":"a","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}"#;
    let keys = Keys::parse(set, Algorithm::Hs256).unwrap();
    for (kid, is_meant) in [("a", true), ("b", false), ("../../dev/null", false)] {
        let token = hs256(&format!(r#"{{"alg":"HS256","kid":"{kid}"}}"#), ALICE);
        assert_eq!(
            user(&token, &keys, &expected("sub"), NOW).is_ok(),
            is_meant,
            "{kid}"
        );
    }
}

#[test]
fn h088_tricks_with_claims() {
    for (payload, expected) in [
        (r#"{"sub":"alice"}"#, Refused::Expired),
        (r#"{"sub":"alice","exp":"1900003600"}"#, Refused::Expired),
        (r#"{"sub":"alice","exp":null}"#, Refused::Expired),
        (r#"{"sub":"alice","exp":-1}"#, Refused::Expired),
        (r#"{"sub":"alice","exp":1e300}"#, Refused::Expired),
        (r#"{"sub":"alice","exp":[1900003600]}"#, Refused::Expired),
        (
            r#"{"sub":"alice","exp":1900003600,"nbf":"0"}"#,
            Refused::Early,
        ),
        (
            r#"{"sub":"alice","exp":1900003600,"nbf":1900000121}"#,
            Refused::Early,
        ),
        (r#"{"exp":1900003600}"#, Refused::Nameless),
        (r#"{"sub":"","exp":1900003600}"#, Refused::Nameless),
        (r#"{"sub":null,"exp":1900003600}"#, Refused::Nameless),
        (r#"{"sub":["alice"],"exp":1900003600}"#, Refused::Nameless),
        (r#"{"sub":1.5,"exp":1900003600}"#, Refused::Nameless),
        (
            r#"{"sub":"mallory","sub":"alice","exp":1900003600}"#,
            Refused::Malformed,
        ),
        (
            r#"{"sub":"alice","exp":1,"exp":1900003600}"#,
            Refused::Malformed,
        ),
        (
            r#"{"sub":"alice","\u0073ub":"alice","exp":1900003600}"#,
            Refused::Malformed,
        ),
        ("", Refused::Malformed),
        ("[]", Refused::Malformed),
    ] {
        assert_eq!(check(&hs256(HEADER, payload)), Err(expected), "{payload}");
    }
    assert_eq!(
        check(&hs256(HEADER, r#"{"sub":42,"exp":1900003600.5}"#)),
        Ok("42".to_owned())
    );
    let long = format!(
        r#"{{"sub":"alice","exp":1900003600,"more":"{}"}}"#,
        "x".repeat(8192)
    );
    assert_eq!(check(&hs256(HEADER, &long)), Err(Refused::TooLong));
    let long = format!(r#"{{"sub":"{}","exp":1900003600}}"#, "x".repeat(257));
    assert_eq!(check(&hs256(HEADER, &long)), Err(Refused::Nameless));
}

proptest! {
    #[test]
    fn no_bytes_panic_and_no_bytes_pass(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let verifier = Verifier::Jwt(Keys::secret(&[SECRET]), expected("sub"));
        prop_assert!(verifier.user(&bytes, "", NOW).is_err());
    }

    #[test]
    fn parts_that_were_put_together_anew_do_not_pass(header in ".{0,60}", payload in ".{0,60}", mac in prop::collection::vec(any::<u8>(), 0..40)) {
        let part = |text: &[u8]| URL_SAFE_NO_PAD.encode(text);
        let token = format!("{}.{}.{}", part(header.as_bytes()), part(payload.as_bytes()), part(&mac));
        prop_assert!(check(&token).is_err());
        let real = hs256(HEADER, ALICE);
        let (_, mac) = real.rsplit_once('.').unwrap();
        let moved = format!("{}.{}.{mac}", part(HEADER.as_bytes()), part(payload.as_bytes()));
        prop_assert!(check(&moved).is_err());
    }
}
