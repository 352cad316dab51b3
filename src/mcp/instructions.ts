// What a client may put into the system prompt of its model: how the memory is used, and which
// stores there are.

import { renderPrompt } from '../memory-tool/prompt.ts'
import type { ToolSpace } from '../memory-tool/tool-space.ts'

const otherTools =
  'Beside the tool `memory`, `memory_search` finds what is known, `memory_read` gives the exact ' +
  'text and its hash, and `memory_history` and `memory_restore` bring back what was.'

export function instructionsFor(space: ToolSpace): string {
  return `${renderPrompt(space)}\n\n${otherTools}`
}
