// The verbs of the command line, by task, in the order of help. The code of a verb is loaded when
// it runs, so that help and typing errors remain fast.

import type { Command } from './call/command.ts'
import { agentCommands } from './verbs/agents.ts'
import { careCommands } from './verbs/care.ts'
import { auditCommands, deviceCommands } from './verbs/devices.ts'
import { eraseCommands, historyCommands, undoCommands } from './verbs/history.ts'
import { keyCommands } from './verbs/keys.ts'
import { memoryCommands } from './verbs/memories.ts'
import { serveCommands } from './verbs/serve.ts'
import { syncCommands } from './verbs/sync.ts'

/** Commands for one task. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly Command[]
}

const completionCommand: Command = {
  name: 'completion',
  summary: 'Print a script that completes commands in bash, zsh or fish',
  positionals: [{ name: 'shell' }],
  options: [],
  notes: [
    'Put one of these lines into the file that your shell reads when it starts:',
    'eval "$(gitlocket completion bash)"',
    'eval "$(gitlocket completion zsh)"',
    'gitlocket completion fish | source',
  ],
  run: async (_, input) => (await import('./commands/completion.ts')).completion(commands, input),
}

export const commandGroups: readonly CommandGroup[] = [
  { title: 'Make a store and look after it', commands: careCommands },
  { title: 'Read and write memories', commands: memoryCommands },
  { title: 'Give agents the memory', commands: agentCommands },
  { title: 'Look back', commands: historyCommands },
  { title: 'Undo', commands: undoCommands },
  { title: 'Erase', commands: eraseCommands },
  { title: 'Share a store between machines', commands: syncCommands },
  { title: 'Decide who may read and write', commands: [...deviceCommands, ...keyCommands] },
  { title: 'Serve many stores', commands: serveCommands },
  { title: 'Audit', commands: auditCommands },
  { title: 'Set up a shell', commands: [completionCommand] },
]

export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands)
