// The tool `memory`: the six commands of the memory tool with the texts of docs/MEMORY-TOOL.md,
// which are its whole answer.

import type { Effect } from '../api/operation.ts'
import type { ObjectSchema } from '../api/schemas.ts'
import type { Wire } from '../api/wire.ts'
import { commands } from '../memory-tool/commands.ts'
import { commandOf } from '../memory-tool/run-command.ts'
import { memoryToolDescription, memoryToolSchema } from '../memory-tool/schema.ts'
import type { Tool } from './tool-call.ts'

const title = 'Memory'
const inputSchema: ObjectSchema = { ...memoryToolSchema }

export const memoryCommand: Tool = {
  definition: {
    name: 'memory',
    title,
    description: memoryToolDescription,
    inputSchema,
    annotations: {
      title,
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
  },
  effect: 'write',
  run: async (space, input) => ({ text: await commands[commandOf(input)].run(space, input) }),
}

/** A view among the writes waits for them, and they for it. */
export function effectOf(tool: Tool, input: Wire): Effect {
  if (tool !== memoryCommand) return tool.effect
  return input['command'] === 'view' ? 'read' : 'write'
}
