// The checks of `doctor` on files: their owners and modes, files that are not the store's, free
// space, and the locks, which name processes that may no longer run. They change nothing and take
// no lock.

import { lstatSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { setTimeout } from 'node:timers'
import { answersAt } from '../../disk/life-socket.ts'
import { findLockHolder } from '../../disk/process-lock.ts'
import { type ProcessOwner, thisProcess } from '../../disk/process-owner.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { hasCode } from '../../errors.ts'
import { branchName } from '../../git/refs/branch.ts'
import { findIdentity } from '../../home/identity-file.ts'
import { lineFileBytesMax } from '../../limits.ts'
import type { Environment } from '../call/environment.ts'
import { findForeignFiles } from '../machine/foreign-owner.ts'
import { isInRam, leftScratchDirectories } from '../machine/scratch-directory.ts'
import { countText, sizeText } from '../text/words.ts'
import { type DoctorFinding, fail, failed, ok, warn } from './finding.ts'

/** `f_type` of statfs(2) of file systems whose locks or fsync are unreliable. */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe53_4d42, 'SMB'],
  [0xff53_4d42, 'CIFS'],
  [0x0102_1997, '9P'],
  [0x5346_414f, 'AFS'],
  [0x00c3_6400, 'Ceph'],
])
const WRONG_KEY = 8
const DENIED = 9
/** Bits of group and others. */
const FOREIGN = 0o077
const FREE_BYTES_LOW = 100_000_000

/** `isStore`: whether there may be a store; without one nothing is missing yet. */
export function checkFiles(environment: Environment, isStore: boolean): readonly DoctorFinding[] {
  const { storeDirectory, stateDirectory } = environment
  return [
    guarded('Identity', () => checkIdentity(environment, isStore)),
    guarded('State directory', () => checkState(stateDirectory, storeDirectory, isStore)),
    guarded('Permissions', () => checkPermissions(storeDirectory, stateDirectory)),
    guarded('Owner', () => checkOwner(environment)),
    guarded('File system', () => checkFileSystem(storeDirectory)),
    guarded('Free space', () => checkSpace(storeDirectory)),
    guarded('Left by edit', () => checkScratch(environment)),
  ]
}

function guarded(check: string, look: () => DoctorFinding): DoctorFinding {
  try {
    return look()
  } catch (error) {
    return failed(check, error)
  }
}

function checkIdentity(environment: Environment, isStore: boolean): DoctorFinding {
  const { identityFile, storeDirectory } = environment
  const check = 'Identity'
  if (environment.grant !== undefined) return ok(check, 'a grant, from the environment')
  try {
    if (findIdentity(environment) === undefined) {
      if (!isStore) return ok(check, 'none yet; `gitlocket init` and `gitlocket join` create it')
      const fix = 'Restore it from a backup, or enrol this machine anew: `gitlocket recover`'
      return fail(check, `none at ${identityFile}, so the store cannot be opened`, fix, WRONG_KEY)
    }
  } catch (error) {
    if (!hasCode(error, 'invalid_identity')) throw error
    return failed(check, error)
  }
  if (isBelow(identityFile, storeDirectory)) {
    const fix = 'Move it elsewhere and set GITLOCKET_IDENTITY_FILE'
    return fail(check, 'the secret lies inside the store', fix, WRONG_KEY)
  }
  return ok(check, identityFile)
}

function checkState(
  stateDirectory: string,
  storeDirectory: string,
  isStore: boolean,
): DoctorFinding {
  const check = 'State directory'
  if (stateDirectory === storeDirectory || isBelow(stateDirectory, storeDirectory)) {
    const fix = 'Move it elsewhere and set GITLOCKET_STATE_DIRECTORY'
    return warn(check, 'inside the store, so a rollback of the store rolls it back too', fix)
  }
  const found = statSync(stateDirectory, { throwIfNoEntry: false })
  if (found !== undefined) return ok(check, stateDirectory)
  if (!isStore) return ok(check, 'none yet')
  return warn(check, `none at ${stateDirectory}`, 'The first command on the store creates it')
}

function checkPermissions(...directories: readonly string[]): DoctorFinding {
  const open = directories.flatMap((directory) => readableByOthers(directory))
  if (open.length === 0) return ok('Permissions', 'no other user can read the store and its state')
  const some = `other users can read ${countText(open.length, 'file', 'files')}, such as ${open[0]}`
  return warn('Permissions', some, `chmod -R go= ${directories.join(' ')}`)
}

/** The path and everything below it, as far as the mode grants access to other users. */
function readableByOthers(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isSymbolicLink()) return []
  // A closed directory protects everything below it.
  if ((found.mode & FOREIGN) === 0) return []
  if (!found.isDirectory()) return [path]
  return [path, ...readdirSync(path).flatMap((name) => readableByOthers(join(path, name)))]
}

/** Such as `sudo` leaves; this user may be able to replace them, not to read them. */
function checkOwner(environment: Environment): DoctorFinding {
  const { paths, uid, gid } = findForeignFiles(environment)
  const [first] = paths
  if (first === undefined) return ok('Owner', 'no file of another user is in the way')
  const count = countText(paths.length, 'file belongs', 'files belong')
  const fix = `sudo chown -hR ${uid}:${gid} ${paths.map(quoted).join(' ')}`
  return fail('Owner', `${count} to another user, such as ${first}`, fix, DENIED)
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}

function checkFileSystem(directory: string): DoctorFinding {
  const check = 'File system'
  const network = networkFileSystem(existing(directory))
  if (network !== undefined) {
    const fix = 'Keep the store on a local disk; locks between machines cannot be relied on'
    return warn(check, `${network}, a network file system`, fix)
  }
  if (!isInRam(existing(directory))) return ok(check, 'local')
  return warn(check, 'in RAM: a restart loses the store', 'Keep the store on a disk')
}

function checkSpace(directory: string): DoctorFinding {
  const { bavail, bsize } = statfsSync(existing(directory))
  const free = bavail * bsize
  if (free >= FREE_BYTES_LOW) return ok('Free space', sizeText(free))
  return warn('Free space', sizeText(free), 'Free space on the disk of the store')
}

function checkScratch(environment: Environment): DoctorFinding {
  const leftovers = leftScratchDirectories(environment)
  if (leftovers.length === 0) return ok('Left by edit', 'nothing')
  const count = countText(leftovers.length, 'directory', 'directories')
  const found = `${count} with plaintext, unless in use`
  return warn('Left by edit', found, `rm -r ${leftovers.join(' ')}`)
}

/** The directory, or the nearest one above it that exists. */
function existing(directory: string): string {
  let path = directory
  while (statSync(path, { throwIfNoEntry: false }) === undefined) path = join(path, '..')
  return path
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory + sep)
}

/** Undefined for a file system of this machine. */
function networkFileSystem(path: string): string | undefined {
  return networkFileSystems.get(statfsSync(path).type)
}

const CHECK = 'Foreign files'
const NAMED_MAX = 20

/** Names that Windows, macOS, desktops of Linux, editors, Dropbox and Syncthing give. */
const foreignName = new RegExp(
  String.raw`^(?:desktop\.ini|(?:eh)?thumbs(?:_vista)?\.db|\.ds_store|\._.+|\.localized|icon\r` +
    String.raw`|\.directory|\.dropbox.*|\.syncthing\..+|~syncthing~.+|.+\.sync-conflict-.+` +
    String.raw`|~\$.+|\.~.+|.+~|.* .*)$`,
  'is',
)
/** What git-check-ref-format(1) forbids. */
// oxlint-disable-next-line no-control-regex -- they are what a name must not have
const invalidRefName = /[\x00-\x20~^:?*[\\\x7f]|\.\.|\/\.|\.$/
const refContent = /^(?:[0-9a-f]{40}\s*|ref: [^]*)$/
/** Where a repair has put damaged files aside. */
const ASIDE = 'gitlocket/damaged/'

/**
 * Sorted paths of files that file managers, sync clients and editors put into the store: stock git
 * takes those in refs/ and objects/ for damage, which no repair can mend.
 */
export function findStrayFiles(store: string): readonly string[] {
  if (lstatSync(store, { throwIfNoEntry: false }) === undefined) return []
  const names = readdirSync(store, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => isForeign(store, name)).toSorted()
}

function isForeign(store: string, name: string): boolean {
  if (name.startsWith(ASIDE)) return false
  const found = lstatSync(join(store, name), { throwIfNoEntry: false })
  if (found?.isFile() !== true) return false
  if (foreignName.test(basename(name))) return true
  if (/^objects\/[0-9a-f]{2}\//.test(name)) {
    return !/^(?:[0-9a-f]{38}|tmp_obj_\w+)$/.test(basename(name))
  }
  if (!name.startsWith('refs/') || name.endsWith('.lock')) return false
  if (invalidRefName.test(name)) return true
  // An empty ref, or a damaged one of the store itself, is damage.
  if (found.size === 0 || basename(name) === 'main') return false
  return found.size > lineFileBytesMax || !refContent.test(readLatin1(join(store, name)))
}

/** A file may go away while its directory is being read. */
function readLatin1(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return 'ref: '
  }
}

export function checkForeignFiles(foreign: readonly string[]): DoctorFinding {
  if (foreign.length === 0) return ok(CHECK, 'none')
  const names = foreign.slice(0, NAMED_MAX).map((name) => JSON.stringify(name))
  const more = foreign.length - names.length
  const found = `${names.join(', ')}${more > 0 ? `, and ${more} more` : ''}`
  const fix =
    'Delete them: another program put them into the directory of the store, which no sync client ' +
    'or file manager should change'
  return warn(CHECK, found, fix)
}

const PATIENCE_MS = 1000
const POLL_MS = 50

interface LockCheck {
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
