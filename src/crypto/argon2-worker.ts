// Entry point of the worker thread that passphrase.ts starts, for one Argon2id hash.

import { doJobs } from '../worker-threads.ts'
import { stretch } from './argon2.ts'

doJobs(stretch)
