// Entry point of the worker thread that passphrase.ts starts: computes one Argon2id hash and ends.

import { parentPort, workerData } from 'node:worker_threads'
import { stretch, type StretchJob } from './argon2.ts'

// `workerData` is untyped; only passphrase.ts sets it.
const job: StretchJob = workerData
void stretch(job).then((key) => parentPort?.postMessage(key))
