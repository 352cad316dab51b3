// What keeps a prepared directory from redirecting or blocking what a store does with files.

import type { MutatedFile } from '../mutant.ts'

const links = 'attack/planted-links.test.ts'
const pipes = 'attack/planted-pipes.test.ts'

export const disk: readonly MutatedFile[] = [
  {
    file: 'disk/disk.ts',
    mutants: [
      {
        line: 'constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW',
        becomes: 'constants.O_CREAT | constants.O_TRUNC',
        test: links,
        name: 'no link is followed, at any name that a file gets',
      },
      {
        line: '.${toHex(systemRandom(8))}.tmp`',
        becomes: '.${toHex(systemRandom(8).fill(1))}.tmp`',
        test: links,
        name: 'no link is followed, at any name that a file gets',
      },
      {
        line: 'if (targetOf(name) === basename(path)) disk.remove(`${directory}/${name}`)',
        becomes: '',
        test: links,
        name: 'what a write left behind that was cut off is swept up',
      },
      {
        line: 'constants.O_RDWR | O_NOFOLLOW',
        becomes: 'constants.O_RDWR',
        test: links,
        name: 'a link is not opened "r+"',
      },
      {
        line: 'constants.O_RDONLY | O_NOFOLLOW',
        becomes: 'constants.O_RDONLY',
        test: links,
        name: 'a link is not opened "r"',
      },
      {
        line: "if (mode === 'r+' && fstatSync(fd).nlink > 1) throw sharedError(path)",
        becomes: '',
        test: links,
        name: 'a hard link to a file of the user is not written: ""',
      },
      {
        line: 'if (!fstatSync(fd).isFile()) throw irregularError(path)',
        becomes: '',
        test: pipes,
        name: 'a pipe with something to read is no file of a store, and no identity',
      },
    ],
  },
  {
    file: 'home/identity-file.ts',
    mutants: [
      {
        line: 'if (findIdentity(place) === undefined) write(place.identityFile, identity)',
        becomes: '',
        test: 'unit/home/identity-races.test.ts',
        name: 'an identity that another process has made a store with comes back',
      },
      {
        line: 'if (other === undefined) throw error',
        becomes: 'throw error',
        test: 'unit/home/identity-races.test.ts',
        name: 'of two that find no identity both work with one',
      },
      {
        line: 'if ((mode & FOREIGN) === 0 || ',
        becomes: 'if (true || ',
        test: 'unit/home/open-default-store.test.ts',
        name: 'opens by the home directory',
      },
    ],
  },
  {
    file: 'git/refs/no-links.ts',
    mutants: [
      {
        line: 'if (isLink) throw linkError(path)',
        becomes: '',
        test: links,
        name: 'harms nothing where it leads gitlocket/cache, when a store is opened or repaired',
      },
    ],
  },
  {
    file: 'git/purge/purge.ts',
    mutants: [
      {
        line: '    checkHasNoLinks(disk, directory)\n',
        becomes: '',
        test: links,
        name: 'harms nothing where it leads logs, when it is planted before an erasure',
      },
    ],
  },
  {
    file: 'home/files.ts',
    mutants: [
      {
        line: 'if (!found.isFile()) throw unreadable',
        becomes: 'if (false) throw unreadable',
        test: pipes,
        name: 'a pipe with something to read is no file of a store, and no identity',
      },
    ],
  },
]
