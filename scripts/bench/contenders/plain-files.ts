// The SDK's own memory tool: plain files, no encryption, no history.

import { join } from 'node:path'
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import type { Command } from '../commands.ts'
import { writeNote } from './git-commit.ts'
import type { Keeper, KeeperKind } from './notes.ts'

export const plainFiles: KeeperKind = {
  name: 'SDK tool',
  start: startPlainFiles,
}

async function startPlainFiles(directory: string): Promise<Keeper> {
  const tool = await BetaLocalFilesystemMemoryTool.init(directory)
  return {
    fill(notes) {
      for (const { path, text } of notes) writeNote(join(directory, 'memories'), path, text)
    },
    run: (command) => runTool(tool, command),
    close() {},
  }
}

function runTool(tool: BetaLocalFilesystemMemoryTool, command: Command): Promise<string> {
  switch (command.command) {
    case 'create':
      return tool.create(command)
    case 'str_replace':
      return tool.str_replace(command)
    case 'insert':
      return tool.insert(command)
    case 'delete':
      return tool.delete(command)
    case 'rename':
      return tool.rename(command)
    case 'view':
    default:
      return tool.view(command)
  }
}
