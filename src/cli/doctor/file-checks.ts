// The checks of `doctor` on the file system: who else can read the secrets, whether the file system
// suits a store, whether an interrupted `edit` left plaintext. Reads only.

import { lstatSync, readdirSync, statSync, statfsSync } from 'node:fs'
import { join, sep } from 'node:path'
import { hasCode } from '../../errors.ts'
import { findIdentity } from '../../home/identity-file.ts'
import type { Environment } from '../call/environment.ts'
import { findForeignFiles } from '../machine/foreign-owner.ts'
import { isInRam, leftScratchDirectories } from '../machine/scratch-directory.ts'
import { countText, sizeText } from '../text/words.ts'
import { fail, failed, ok, type DoctorFinding, warn } from './finding.ts'

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
