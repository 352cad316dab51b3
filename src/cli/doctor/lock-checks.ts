// The findings of `doctor` about the locks of a store: which process holds them, whether it still
// runs, and what to do. Takes no lock, and waits PATIENCE_MS at most for a holder at work to answer
// or to release it.

import { setTimeout } from 'node:timers'
import { systemDisk } from '../../disk/disk.ts'
import { answersAt } from '../../disk/life-socket.ts'
import { findLockHolder } from '../../disk/process-lock.ts'
import { type ProcessOwner, thisProcess } from '../../disk/process-owner.ts'
import { branchName } from '../../git/refs/branch.ts'
import { failed, type DoctorFinding, ok, warn } from './finding.ts'

const PATIENCE_MS = 1000
const POLL_MS = 50

export interface LockCheck {
  readonly findings: readonly DoctorFinding[]
  /** Whether a process that may still run holds one of them. */
  readonly held: boolean
}

export async function checkLocks(storeDirectory: string): Promise<LockCheck> {
  const directory = `${storeDirectory}/gitlocket`
  const [writer, packer] = await Promise.all([
    examine(directory, 'Lock', 'lock'),
    examine(directory, 'Checkpoint lock', 'checkpoint.lock'),
  ])
  const findings = [writer.finding, packer.finding, ...checkBranchLock(storeDirectory)]
  return { findings, held: writer.held || packer.held }
}

/** The store removes its own branch locks within moments, even those of a process that died. */
function checkBranchLock(storeDirectory: string): readonly DoctorFinding[] {
  const name = `${branchName}.lock`
  if (systemDisk.stat(`${storeDirectory}/${name}`) === undefined) return []
  return [
    warn(
      'Branch lock',
      `${name} exists: changes are kept in the journal, invisible to git, until it is removed`,
      'Let the git process that made it finish; if none runs, delete the file',
    ),
  ]
}

async function examine(
  directory: string,
  check: string,
  name: string,
): Promise<{ readonly finding: DoctorFinding; readonly held: boolean }> {
  try {
    const holder = await findLastingHolder(`${directory}/${name}`)
    if (holder === undefined) return { finding: ok(check, 'free'), held: false }
    return { finding: findingOf(check, name, holder), held: holder.state !== 'ended' }
  } catch (error) {
    return { finding: failed(check, error), held: false }
  }
}

interface LastingHolder {
  readonly owner: ProcessOwner
  readonly state: 'running' | 'silent' | 'ended' | 'unknown'
}

/** The holder of a lock, unless it releases the lock in time, as a writer at work does. */
async function findLastingHolder(path: string): Promise<LastingHolder | undefined> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const holder = findLockHolder(systemDisk, path)
    if (holder === undefined) return undefined
    const { owner, socket } = holder
    const life = await systemDisk.lifeOf(owner, socket)
    if (life !== 'living') return { owner, state: life }
    const silent = socket !== undefined && !(await answersAt(socket, PATIENCE_MS))
    if (silent) return { owner, state: 'silent' }
    if (performance.now() >= deadline) return { owner, state: 'running' }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function findingOf(check: string, name: string, { owner, state }: LastingHolder): DoctorFinding {
  // The process id of another container means nothing here.
  const elsewhere = owner.namespace !== thisProcess().namespace
  const who = `held by ${elsewhere ? 'a process in another container' : `process ${owner.pid}`}`
  if (state === 'running') return ok(check, `${who}, which runs`)
  if (state === 'ended') return ok(check, `${who}, which has ended; the next writer takes the lock`)
  if (state === 'silent') {
    const which = elsewhere ? 'that container' : `it (\`kill -CONT ${owner.pid}\`)`
    const fix = `Continue ${which}, or end it: no other process can write until then`
    return warn(check, `${who}, which is stopped or too busy to answer`, fix)
  }
  const fix = `If it has ended, delete gitlocket/${name} in the store; if it runs, let it finish`
  return warn(check, `${who}; whether it still runs cannot be determined from here`, fix)
}
