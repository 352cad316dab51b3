// Entry point of the threads that pack-threads.ts starts: runs one job after another, reports
// progress, replies once to each and keeps nothing. Must import nothing that loads libsodium, which
// would more than double its start time.

import { parentPort } from 'node:worker_threads'
import { systemDisk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { runPackJob } from './pack-job.ts'
import { decodeRequest, type PackReply, type PackTask } from './pack-message.ts'

parentPort?.on('message', (task: PackTask) => {
  void reply(task).then(post)
})

async function reply({ request, cancelled }: PackTask): Promise<PackReply> {
  try {
    const job = decodeRequest(request)
    const pack = await runPackJob(systemDisk, job, {
      isCancelled: () => Atomics.load(cancelled, 0) !== 0,
      progress: (done, total) => post({ done, total }),
    })
    return { pack }
  } catch (error) {
    if (error instanceof StoreError) return { code: error.code, message: error.message }
    return { code: undefined, message: String(error) }
  }
}

function post(message: PackReply): void {
  parentPort?.postMessage(message)
}
