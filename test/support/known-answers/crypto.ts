// The known answers of hashes, ciphers and signatures, most of them published.

import { fromHex, toHex, utf8 } from '../../../src/bytes.ts'
import { deriveSalt, openBytes, sealBytes } from '../../../src/crypto/aead.ts'
import { deriveKey, hash256, keyedHash } from '../../../src/crypto/digest.ts'
import { decapsulate, encapsulate, kemKeyPair } from '../../../src/crypto/recipient.ts'
import { gitHash } from '../../../src/crypto/sha1.ts'
import { sign, signingKeyPair, verifySignature } from '../../../src/crypto/signature.ts'
import { sodium } from '../../../src/crypto/sodium.ts'
import { digestOf, type HashName, hexDigestOf, startHash } from '../../../src/platform/crypto.ts'
import { type AnswerRow, ascending, within } from './rows.ts'

const abc = utf8('abc')
const million = new Uint8Array(1_000_000).fill(97)

// FIPS 180-4, and RFC 7693 for BLAKE2b.
const hashes: readonly AnswerRow[] = [
  ...(
    [
      ['sha1', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
      ['sha256', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
      [
        'sha512',
        'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a' +
          '2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
      ],
    ] satisfies readonly (readonly [HashName, string])[]
  ).flatMap(([name, digest]): AnswerRow[] => [
    [`${name} of bytes`, digest, () => digestOf(name, within(abc))],
    [`${name} of a text`, digest, () => hexDigestOf(name, 'abc')],
    [`${name} in parts`, digest, () => startHash(name).update('a').update(utf8('bc')).digest()],
  ]),
  [
    'sha1 of a million',
    '34aa973cd4c4daa4f61eeb2bdbad27316534016f',
    () => hexDigestOf('sha1', million),
  ],
  [
    'sha256 of a million',
    'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0',
    () => hexDigestOf('sha256', million),
  ],
  [
    'sha256 of half a character is that of U+FFFD',
    '83d544ccc223c057d2bf80d3f2a32982c32c3c0db8e2674820da5064783fb097',
    () => hexDigestOf('sha256', '\ud800'),
  ],
  ['a git object', 'f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f', () => gitHash('blob', abc)],
  [
    'a large git object',
    'de1fbf0c2f34f67f01f355f31ed0cf7319643c5e',
    () => gitHash('blob', million),
  ],
  [
    'BLAKE2b-256',
    'bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319',
    () => hash256(abc),
  ],
  [
    'BLAKE2b with a key',
    '43f5ccafe5afc5b810756184a24cdb8980ca46b3cd554e3a',
    () => keyedHash(24, ascending(32), utf8('ab'), utf8('c')),
  ],
  [
    'a subkey',
    'a7bf78d881622299a4c615a9508bfd09550591bff9e15a69ad160d56fbe1b986',
    () => deriveKey(ascending(32), 5, 'GLK1keys'),
  ],
]

const sealed = {
  header: ascending(24, 1),
  salt: ascending(24, 50),
  key: ascending(32, 100),
  context: utf8('the place'),
}

/** An envelope with one byte changed, unless `at` is left out. */
function openChanged(length: number, at?: number): Uint8Array {
  const envelope = sealBytes({ ...sealed, plaintext: ascending(length, 200) })
  const bytes = envelope.map((byte, index) => (index === at ? byte ^ 1 : byte))
  return hash256(openBytes(within(bytes), sealed.key, sealed.context))
}

const ciphers: readonly AnswerRow[] = [
  // draft-irtf-cfrg-xchacha-03, A.3.1
  [
    'XChaCha20-Poly1305',
    'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f' +
      '4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f' +
      '76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49',
    () => {
      const text =
        "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the " +
        'future, sunscreen would be it.'
      const additional = fromHex('50515253c0c1c2c3c4c5c6c7')
      const nonce = ascending(24, 0x40)
      const key = ascending(32, 0x80)
      const { crypto_aead_xchacha20poly1305_ietf_encrypt: encrypt } = sodium
      return encrypt(utf8(text), additional, null, nonce, key)
    },
  ],
  [
    'an envelope',
    'def85a6eaa7393298a1c69d320465dfdf60adcd33359005fcfa3b0431084bfd8',
    () => hash256(sealBytes({ ...sealed, plaintext: ascending(48) })),
  ],
  [
    'a large envelope',
    '6eedc43122892413254b61d8f270950f1b3077fc274765be9616a10d81606dff',
    () => hash256(sealBytes({ ...sealed, plaintext: ascending(100_000) })),
  ],
  [
    'a salt',
    '910514c86596aae39b4ca97a04aaa7eef492508bc76dfe90',
    () => {
      const parts = { saltKey: sealed.key, type: 2, context: sealed.context, plaintext: abc }
      return deriveSalt({ ...parts, hedge: ascending(32, 9) })
    },
  ],
  [
    'opened',
    'b3763e3394e2934037b1fa2111fa34b631c49fee6c20665d9a6982ab01305e1e',
    () => openChanged(48),
  ],
  [
    'a large one opened',
    '7f3021c504635a9d40d3919512adcbcdf8863c3fa8da2819ec304cc3bc4d2cb4',
    () => openChanged(100_000),
  ],
  ['another header', 'envelope_commitment', () => openChanged(48, 0)],
  ['another commitment', 'envelope_commitment', () => openChanged(100_000, 79)],
  ['another ciphertext', 'envelope_tag', () => openChanged(48, 80)],
  ['another tag', 'envelope_tag', () => openChanged(48, 48 + 95)],
  ['another large ciphertext', 'envelope_tag', () => openChanged(100_000, 50_000)],
  ['another large tag', 'envelope_tag', () => openChanged(100_000, 100_095)],
]

/** RFC 8032, 7.1: seed, public key, message, signature. */
const ed25519 = [
  [
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155' +
      '5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'af82',
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac' +
      '18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  ],
] as const

/** The first signature with S + L, which a careless verifier accepts. */
const malleable =
  'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155' +
  '4c8c7872aa064e049dbb3013fbf29380d25bf5f0595bbe24655141438e7a101b'

const kemSeed = fromHex('7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26')

const signatures: readonly AnswerRow[] = [
  ...ed25519.flatMap(([seed, publicKey, message, signature], index): AnswerRow[] => [
    [`key ${index} of Ed25519`, publicKey, () => signingKeyPair(fromHex(seed)).publicKey],
    [`its signature`, signature, () => sign(fromHex(message), signingKeyPair(fromHex(seed)))],
    // A platform may sign by itself for a key that signs often.
    [
      `its hundredth signature`,
      signature,
      () => {
        const pair = signingKeyPair(fromHex(seed))
        for (let n = 1; n < 100; n += 1) sign(abc, pair)
        return sign(fromHex(message), pair)
      },
    ],
    [
      `verified`,
      'undefined',
      () => {
        verifySignature(fromHex(message), within(fromHex(signature)), fromHex(publicKey))
      },
    ],
    [
      `of another message`,
      'device_signature_invalid',
      () => {
        verifySignature(fromHex(`${message}00`), fromHex(signature), fromHex(publicKey))
      },
    ],
  ]),
  [
    'S + L',
    'device_signature_invalid',
    () => {
      const [[, publicKey]] = ed25519
      verifySignature(utf8(''), fromHex(malleable), fromHex(publicKey))
    },
  ],
  [
    'a key of small order',
    'device_signature_invalid',
    () => {
      const identity = new Uint8Array(32).with(0, 1)
      verifySignature(abc, new Uint8Array(64).with(0, 1), identity)
    },
  ],
  // draft-connolly-cfrg-xwing-kem, the first vector.
  [
    'X-Wing',
    'd2df0522128f09dd8e2c92b1e905c793d8f57a54c3da25861f10bf4ca613e384',
    () => {
      const seed = fromHex(
        '3cb1eea988004b93103cfb0aeefd2a686e01fa4a58e8a3639ca8a1e3f9ae57e2' +
          '35b8cc873c23dc62b8d260169afa2f75ab916a58d974918835d25e6a435085b2',
      )
      const pair = kemKeyPair(kemSeed)
      const { ciphertext, sharedSecret } = encapsulate(pair.publicKey, seed)
      const opened = decapsulate(ciphertext, pair)
      return toHex(opened) === toHex(sharedSecret) ? opened : 'not opened'
    },
  ],
  [
    'X-Wing with a changed ciphertext',
    '6df0b8d85319a725c1bfa5df1dc57ecfeb98c298038fbf5de40a227962f95458',
    () => {
      const pair = kemKeyPair(kemSeed)
      const { ciphertext } = encapsulate(pair.publicKey, ascending(64))
      return decapsulate(ciphertext.with(5, (ciphertext[5] ?? 0) ^ 1), pair)
    },
  ],
]

export const cryptoAnswers: readonly AnswerRow[] = [...hashes, ...ciphers, ...signatures]
