// The SDK's own memory tool: plain files, no encryption, no history.

import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import type { Contender, ContenderKind } from './contender.ts'

export const plainFiles: ContenderKind = {
  name: 'SDK plain-file tool',
  pace: 'fast',
  every: 1,
  remark: 'plaintext, no history; syncs the file, not its directory',
  start: startPlainFiles,
}

async function startPlainFiles(directory: string): Promise<Contender> {
  const tool = await BetaLocalFilesystemMemoryTool.init(directory)
  return {
    create: ({ path, text }) =>
      tool.create({ command: 'create', path: `/memories/${path}`, file_text: text }),
    replace: ({ path, from, to }) =>
      tool.str_replace({
        command: 'str_replace',
        path: `/memories/${path}`,
        old_str: from,
        new_str: to,
      }),
    close() {},
  }
}
