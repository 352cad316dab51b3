// Entry point of the threads that pack-worker.ts starts: runs one job after another and keeps
// nothing. Must import nothing that loads libsodium, which would more than double its start time.

import { systemDisk } from '../../disk/system-disk.ts'
import { doJobs } from '../../worker-threads.ts'
import { decodeRequest, type PackRequest, runPackJob } from './pack-job.ts'

doJobs((request: PackRequest, watch) => runPackJob(systemDisk, decodeRequest(request), watch))
