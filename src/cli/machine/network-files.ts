// Which file systems are shared with other machines.

import { statfsSync } from 'node:fs'

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

/** The name of that of an existing file, if it is one of them. */
export function networkFileSystem(path: string): string | undefined {
  return networkFileSystems.get(statfsSync(path).type)
}
