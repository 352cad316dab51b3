// The documented answers of the memory tool, each through the handlers and through the tool runners
// of both generations of the SDK, so that the model reads the documented texts.

import { runRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool'
import { runRunnableTool as runRunnableTool0 } from 'anthropic-sdk-0/lib/tools/BetaRunnableTool'
import { ToolError as ToolError0 } from 'anthropic-sdk-0/lib/tools/ToolError'
import { describe } from 'vitest'
import { memoryTool } from '../../src/anthropic/memory-tool.ts'
import { rig, throughHandlers, type Transport } from './memory-tool/rig.ts'
import { answerChapters } from './memory-tool/rows-answers.ts'

const context = { toolUse: { type: 'tool_use', id: 'id', name: 'memory', input: {} } } as const

const transports: readonly (readonly [name: string, transport: Transport])[] = [
  ['handlers', throughHandlers],
  [
    'the tool runner of SDK 1.x',
    async (store, { command, input }) => {
      const tool = memoryTool(store, { session: 'session' })
      const { toolUse } = context
      const both = { toolUse, toolUseBlock: toolUse }
      return outcome(await runRunnableTool(tool, withCommand(command, input), both))
    },
  ],
  [
    'the tool runner of SDK 0.x',
    async (store, { command, input }) => {
      const tool = memoryTool(store, { session: 'session', ToolError: ToolError0 })
      const { toolUse } = context
      const both = { toolUse, toolUseBlock: toolUse }
      return outcome(await runRunnableTool0(tool, withCommand(command, input), both))
    },
  ],
]

function withCommand(command: string, input: unknown): unknown {
  return typeof input === 'object' ? { command, ...input } : input
}

function outcome(result: { content: unknown; isError: boolean }): {
  text: unknown
  refused: boolean
} {
  return { text: result.content, refused: result.isError }
}

describe.each(transports)('through %s', (_, transport) => {
  const tool = rig()
  for (const { rows } of answerChapters) tool.rows('', rows, transport)
})
