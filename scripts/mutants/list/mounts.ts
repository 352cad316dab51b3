// Several stores behind the memory tool, the section of the prompt, and the bridges.

import type { MutatedFile } from '../mutant.ts'

export const mounts: readonly MutatedFile[] = [
  {
    file: 'memory-tool/tool-space.ts',
    mutants: [
      {
        line: 'const mount = this.mounts.find((one) => one.name === name)',
        becomes: 'const mount = this.mounts.find((one) => one.name.startsWith(name))',
        test: 'attack/mount-paths.test.ts',
        name: 'is reached by no path',
      },
      {
        line: `const path = mount.root === '/' ? below : check(mount.root + (isRoot ? '' : below))`,
        becomes: 'const path = below',
        test: 'attack/mount-paths.test.ts',
        name: 'nothing is reached',
      },
    ],
  },
  {
    file: 'memory-tool/commands.ts',
    mutants: [
      {
        line: 'checkMay(operation, space, mount)',
        becomes: '',
        test: 'attack/mount-paths.test.ts',
        name: 'is not looked at by any other command, and says nothing of what is there',
      },
      {
        line: 'if (to.mount !== mount) throw leadsOut(space, from.shown, to)',
        becomes: '',
        test: 'conformance/memory-tool-mounts.test.ts',
        name: 'a rename between stores is refused, and what is said instead works',
      },
    ],
  },
  {
    file: 'memory-tool/listing.ts',
    mutants: [
      {
        line: `if (found?.type === 'directory') return`,
        becomes: 'if (found !== undefined) return',
        test: 'attack/mount-paths.test.ts',
        name: 'a root that is a file is an empty directory',
      },
    ],
  },
  {
    file: 'memory-tool/mount-rules.ts',
    mutants: [
      {
        line: 'return name.toUpperCase().toLowerCase()',
        becomes: 'return name',
        test: 'conformance/memory-tool-mounts.test.ts',
        name: 'cannot be two that differ in case',
      },
    ],
  },
  {
    file: 'memory-tool/prompt.ts',
    mutants: [
      {
        line: `.replaceAll(quoteLike, ' ')`,
        becomes: '',
        test: 'attack/mount-descriptions.test.ts',
        name: 'closes it in another way',
      },
      {
        line: String.raw`|\p{Default_Ignorable_Code_Point}`,
        becomes: '',
        test: 'attack/mount-descriptions.test.ts',
        name: 'is unseen',
      },
    ],
  },
  {
    file: 'memory-tool/refusal.ts',
    mutants: [
      {
        line: 'return !(error instanceof Refusal) && surfaceOf(error).status >= 500',
        becomes: 'return false',
        test: 'conformance/memory-tool-server.test.ts',
        name: 'what is wrong with a store is an error, for the operator alone',
      },
    ],
  },
  {
    file: 'memory-tool/given-mounts.ts',
    mutants: [
      {
        line: 'const isFree = [access, mount.access].every(',
        becomes: 'const isFree = [access, mount.access].some(',
        test: 'conformance/memory-tool-mounts.test.ts',
        name: 'is limited by the access of the options',
      },
    ],
  },
]
