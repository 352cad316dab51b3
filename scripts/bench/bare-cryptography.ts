// The cryptography of one verified commit and nothing else, as often as it fits into the time, in
// as many threads as are asked for: the limit that verification is compared with. The commit is
// that of the long history, one changed line in a note of 1 kB among 10,000. Prints the number of
// commits per second of all threads together.

import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import sodium, { ready } from 'libsodium-wrappers'

/** Given as JSON in the only argument. */
export interface BareRequest {
  readonly threads: number
  readonly seconds: number
}

// Bytes, as FORMAT says: padded plaintexts, and what is hashed.
const record = 768
const detail = 256
const memory = 1280
const sealLabelAndPlace = 100
const saltPlace = 100
const signedRecord = 540
const rowPlace = 80
const rowDetail = 120
const content = 1024
const unsignedCommit = 1650
const objects = [1965, memory + 96, 170, 448, 448, 448, 160]
const sshsig = 100

type Bytes = Uint8Array<ArrayBuffer>

/** What is done for one commit; nothing in it is a secret, so anything serves as input. */
function commitWork(): () => void {
  const { privateKey, publicKey } = sodium.crypto_sign_keypair()
  const { privateKey: groupKey } = generateKeyPairSync('ed25519')
  const body = bytesOf(signedRecord)
  const signature = sodium.crypto_sign_detached(body, privateKey)
  const envelopes = [record, detail, memory].map(sealed)
  const gitObjects = objects.map(bytesOf)
  const [commit, note, message] = [bytesOf(unsignedCommit), bytesOf(content), bytesOf(sshsig)]
  return () => {
    for (const open of envelopes) open()
    sodium.crypto_generichash(32, body, null)
    sodium.crypto_generichash(32, bytesOf(rowPlace), null)
    sodium.crypto_generichash(32, bytesOf(rowDetail), key)
    hash('sha256', note, 'buffer')
    sodium.crypto_sign_verify_detached(signature, body, publicKey)
    hash('sha512', commit, 'buffer')
    sign(null, message, groupKey)
    for (const object of gitObjects) hash('sha1', object, 'hex')
  }
}

const key = new Uint8Array(32).fill(7)
const nonce = new Uint8Array(24).fill(9)
const additional = new Uint8Array(80)

/** An envelope to open: message key and commitment, the plaintext, and the salt made again. */
function sealed(length: number): () => void {
  const plaintext = bytesOf(length)
  const ciphertext = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
    plaintext,
    additional,
    null,
    nonce,
    key,
  )
  const [place, saltInput] = [bytesOf(sealLabelAndPlace), bytesOf(saltPlace)]
  return () => {
    sodium.crypto_generichash(64, place, key)
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, ciphertext, additional, nonce, key)
    sodium.crypto_generichash(32, plaintext, null)
    sodium.crypto_generichash(24, saltInput, key)
  }
}

function bytesOf(length: number): Bytes {
  return new Uint8Array(length).fill(length)
}

/** Commits per second in this thread. */
function rateFor(seconds: number): number {
  const work = commitWork()
  const until = performance.now() + seconds * 1000
  const began = performance.now()
  let done = 0
  for (; performance.now() < until; done += 1) work()
  return (done / (performance.now() - began)) * 1000
}

await ready
if (isMainThread) {
  const { threads, seconds }: BareRequest = JSON.parse(process.argv[2] ?? '{}')
  const rates = await Promise.all(Array.from({ length: threads }, () => rateInThread(seconds)))
  console.log(JSON.stringify(rates.reduce((sum, rate) => sum + rate, 0)))
} else {
  const seconds: number = workerData
  parentPort?.postMessage(rateFor(seconds))
}

function rateInThread(seconds: number): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), { workerData: seconds })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}
