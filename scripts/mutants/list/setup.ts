// Files of other programs, which a set-up adds to; the list that an agent is shown.

import type { MutatedFile } from '../mutant.ts'

const crash = 'fault/agent-setup-crash.test.ts'
const hostile = 'attack/setup-files.test.ts'
const texts = 'unit/cli/json-text.test.ts'
const turns = 'unit/cli/turns.test.ts'
const context = 'unit/cli/session-context.test.ts'

export const setup: readonly MutatedFile[] = [
  {
    file: 'cli/setup/user-file.ts',
    mutants: [
      {
        line: 'fchmodSync(fd, mode)',
        becomes: '',
        test: crash,
        name: 'every cut leaves the old file or the new one, and the next run tidies up',
      },
      {
        line: '      checkUnchanged(file)\n',
        becomes: '',
        test: crash,
        name: 'a file that another program changes meanwhile is left as that one made it',
      },
      {
        line: 'realpathSync(within) + sep',
        becomes: 'realpathSync(within)',
        test: hostile,
        name: 'to a project with a longer name is one out of it',
      },
    ],
  },
  {
    file: 'cli/setup/turns.ts',
    mutants: [
      {
        line: "join(directory, 'lock')",
        becomes: 'join(directory, identity.token)',
        test: turns,
        name: 'a turn begins when the one before it has ended',
      },
      {
        line: '      await sweepOwners(disk, directory)\n',
        becomes: '',
        test: turns,
        name: 'a process that is killed in its turn stops no other',
      },
    ],
  },
  {
    file: 'cli/setup/json-text.ts',
    mutants: [
      {
        line: 'if (found.length > 1) throw',
        becomes: 'if (found.length > 2) throw',
        test: texts,
        name: 'refuses {"mcpServers": {}, "mcpServers": {}}',
      },
      {
        line: "tail.hasComma ? '' : ','",
        becomes: "false ? '' : ','",
        test: texts,
        name: 'comments stay where they are, with a trailing comma and without',
      },
    ],
  },
  {
    file: 'cli/setup/session-context.ts',
    mutants: [
      { line: '|[<>`]', becomes: '', test: context, name: 'stays one quoted word of one line' },
      {
        line: 'if (left < 0) break',
        becomes: 'if (left < -1e9) break',
        test: context,
        name: 'is bounded however many memories there are, and however long their names',
      },
    ],
  },
]
