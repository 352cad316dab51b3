// Work that one server does at a time, of all that share an engine. A server that dies loses its
// claim after half a minute.

import { StoreError } from '../errors.ts'
import type { HostClaim } from '../hosting/host-backend.ts'
import { lockWaitMsDefault } from '../limits.ts'
import { type EnginePool, sqlStatements } from './pool.ts'

const RENEW_MS = 10_000
const POLL_MS = 100

const statements = sqlStatements({
  claimJob: `insert into gl_job as job (name, holder, until)
    values ($1, $2, now() + interval '30 seconds')
    on conflict (name) do update set holder = $2, until = now() + interval '30 seconds'
    where job.holder = $2 or job.until < now()`,
  releaseJob: 'delete from gl_job where name = $1 and holder = $2',
})

/** Work that waits for its turn; other jobs are skipped while another server is at them. */
type HeldJob = HostClaim | 'restore'

const problems: Readonly<Record<HeldJob, string>> = {
  stores: 'Another server makes or removes stores',
  rotation: 'Another process rotates the secrets of these stores',
  restore: 'Another process restores these stores',
}

export class Jobs {
  readonly #pool: EnginePool
  readonly #server: string
  #claims = 0

  /** `server` differs from that of every other process. */
  constructor(pool: EnginePool, server: string) {
    this.#pool = pool
    this.#server = server
  }

  /** Runs `work`, unless another claim of the job runs; then it does nothing. */
  async run(job: string, work: () => Promise<void>): Promise<void> {
    const holder = this.#newHolder()
    if (await this.#claim(job, holder)) await this.#work(job, holder, work)
  }

  /** Runs `work` once the job is free. Throws `locked`. */
  async hold<T>(job: HeldJob, work: () => Promise<T>): Promise<T> {
    const holder = this.#newHolder()
    const deadline = performance.now() + lockWaitMsDefault
    while (!(await this.#claim(job, holder))) {
      if (performance.now() >= deadline) {
        throw new StoreError('locked', `${problems[job]}: try again later`)
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    return this.#work(job, holder, work)
  }

  async #work<T>(job: string, holder: string, work: () => Promise<T>): Promise<T> {
    // If it fails, the claim ends too early, which the work must allow for.
    const renewing = setInterval(() => {
      this.#claim(job, holder).catch(() => undefined)
    }, RENEW_MS)
    try {
      return await work()
    } finally {
      clearInterval(renewing)
      await this.#pool.repeat(statements.releaseJob, [job, holder]).catch(() => undefined)
    }
  }

  #newHolder(): string {
    this.#claims += 1
    return `${this.#server}.${this.#claims}`
  }

  async #claim(job: string, holder: string): Promise<boolean> {
    return (await this.#pool.repeat(statements.claimJob, [job, holder])).count === 1
  }
}
