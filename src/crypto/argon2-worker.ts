// Entry of the worker thread that passphrase.ts starts: one Argon2id hash, then the end.

import { parentPort, workerData } from 'node:worker_threads'
import { stretch, type StretchJob } from './argon2.ts'

// The type is lost on the way; passphrase.ts alone sets it.
const job: StretchJob = workerData
parentPort?.postMessage(await stretch(job))
