// Makes tokens with the crypto module of Node.js: an implementation that shares nothing with the gate's.
// node make.mjs prints the keys, good tokens of alice, and tokens that must not pass, as JSON.
import crypto from 'node:crypto';

const now = Math.floor(Date.now() / 1000);
const part = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const pem = (key) => key.export({ type: 'spki', format: 'pem' });
const secret = crypto.randomBytes(32).toString('hex');
const pairs = {
  RS256: crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: crypto.generateKeyPairSync('ed25519'),
};

const mac = (text, key) => crypto.createHmac('sha256', key).update(text).digest('base64url');
const sign = (alg, text) => alg === 'HS256' ? mac(text, secret)
  : crypto.sign(alg === 'EdDSA' ? null : 'sha256', Buffer.from(text), { key: pairs[alg].privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
const token = (alg, header, claims) => { const text = `${part(header)}.${part(claims)}`; return `${text}.${sign(alg, text)}`; };

const alice = { sub: 'alice', iss: 'https://id.example', aud: 'www.example.org', iat: now, exp: now + 3600 };
const good = {};
for (const alg of ['HS256', ...Object.keys(pairs)]) good[alg] = token(alg, { alg, typ: 'JWT' }, alice);

// All of these are for a gate that takes RS256.
const rs = (claims, header = {}) => token('RS256', { alg: 'RS256', ...header }, claims);
const forged = (header, key) => { const text = `${part(header)}.${part(alice)}`; return `${text}.${key === null ? '' : mac(text, key)}`; };
const publicKey = pem(pairs.RS256.publicKey);
const other = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const byOther = (() => { const text = `${part({ alg: 'RS256' })}.${part(alice)}`; return `${text}.${crypto.sign('sha256', Buffer.from(text), other).toString('base64url')}`; })();
const tricks = {
  'merely exists': '1',
  'a session id': crypto.randomBytes(16).toString('hex'),
  'alg none': forged({ alg: 'none' }, null),
  'alg None, signed': forged({ alg: 'None' }, secret),
  'no alg': forged({ typ: 'JWT' }, secret),
  'HS256 with the public key': forged({ alg: 'HS256' }, publicKey),
  'HS256 with the public key, no newline': forged({ alg: 'HS256' }, publicKey.trim()),
  'HS256 with /dev/null': forged({ alg: 'HS256', kid: '../../dev/null' }, ''),
  'RS256 of another key': byOther,
  'the claim twice': rs(`{"sub":"bob","sub":"alice","aud":"www.example.org","exp":${now + 3600}}`),
  'the expiry twice': rs(`{"sub":"alice","aud":"www.example.org","exp":1,"exp":${now + 3600}}`),
  'expired': rs({ ...alice, exp: now - 200 }),
  'without expiry': rs({ ...alice, exp: undefined }),
  'expiry as text': rs({ ...alice, exp: String(now + 3600) }),
  'not yet': rs({ ...alice, nbf: now + 600 }),
  'of another site': rs({ ...alice, aud: 'other.example.org' }),
  'of another issuer': rs({ ...alice, iss: 'https://evil.example' }),
  'nobody': rs({ ...alice, sub: '' }),
  '8 KiB': rs({ ...alice, more: 'x'.repeat(6000) }),
  'critical extension': rs(alice, { crit: ['x'], x: 1 }),
  'truncated': good.RS256.slice(0, -1),
  'without signature': good.RS256.split('.').slice(0, 2).join('.') + '.',
  'twice': `${good.RS256}.${good.RS256}`,
};
const keys = Object.fromEntries(Object.entries(pairs).map(([alg, pair]) => [alg, pem(pair.publicKey)]));
const privateKey = pairs.RS256.privateKey.export({ type: 'pkcs8', format: 'pem' });
console.log(JSON.stringify({ keys: { HS256: secret, ...keys }, good, tricks, privateKey }));
