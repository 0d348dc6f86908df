// Signs requests with the npm package web-bot-auth (Cloudflare's implementation, Apache-2.0) and the test key of RFC 9421, B.1.4; and one
// in the form of draft-ietf-webbotauth-httpsig-protocol (a dictionary in Signature-Agent) with Node's own Ed25519.
//
//   npm install web-bot-auth@0.1.3 && node sign.mjs > recorded.json
//
// All are for www.example.org and good from 1900000000 for an hour.
import { createPrivateKey, sign } from "node:crypto";
import { signatureHeaders } from "web-bot-auth";
import { signerFromJWK } from "web-bot-auth/crypto";

const key = {
  kty: "OKP",
  crv: "Ed25519",
  d: "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
  x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
};
const created = 1900000000;
const agent = '"https://bot.example"';
const signer = await signerFromJWK(key);

async function signed(seconds) {
  const request = new Request("https://www.example.org/page", { headers: { "Signature-Agent": agent } });
  const headers = await signatureHeaders(request, signer, {
    created: new Date(created * 1000),
    expires: new Date((created + seconds) * 1000),
  });
  return { "Signature-Agent": agent, ...headers };
}

function dictionary(components, extra) {
  const params = `(${components.map(([name]) => name).join(" ")});created=${created};expires=${created + 3600};keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"${extra};tag="web-bot-auth"`;
  const lines = components.map(([name, value]) => `${name}: ${value}\n`).join("");
  const base = `${lines}"@signature-params": ${params}`;
  const bytes = sign(null, Buffer.from(base), createPrivateKey({ key, format: "jwk" }));
  return {
    "Signature-Agent": `sig1=${agent}`,
    "Signature-Input": `sig1=${params}`,
    Signature: `sig1=:${bytes.toString("base64")}:`,
  };
}

const authority = ['"@authority"', "www.example.org"];
const member = ['"signature-agent";key="sig1"', agent];
const many = await Promise.all(Array.from({ length: 50 }, () => signed(3600)));
console.log(
  JSON.stringify(
    {
      package: many,
      short: await signed(60),
      long: await signed(200000),
      dictionary: dictionary([authority, member], ""),
      path: dictionary([authority, member, ['"@method"', "GET"], ['"@path"', "/page/7"], ['"@query"', "?a=b"]], ';alg="ed25519";nonce="abc"'),
      without_authority: dictionary([member], ""),
      without_agent: dictionary([authority], ""),
      other_algorithm: dictionary([authority, member], ';alg="rsa-pss-sha512"'),
      other_site: dictionary([['"@authority"', "www.example.net"], member], ""),
    },
    null,
    1,
  ),
);
