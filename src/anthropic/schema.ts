// The memory tool as JSON Schema, for loops that do not know `memory_20250818`: which commands
// there are, and what each takes. One flat object, since not every model's API takes alternatives.
// Whether an input is valid is decided by the schemas of api/, not here.

import type { CommandName } from './commands.ts'

/** What the definition of a tool says beside its name. */
export const memoryToolDescription: string =
  'Your memory: text files below /memories that last from one conversation to the next. View the ' +
  'directory before you begin, and write down what will matter later.'

/**
 * Fits what other libraries call a JSON Schema: an object of any properties, which only an alias
 * is to TypeScript, or one whose lists may be changed.
 */
export type MemoryToolSchema = {
  type: 'object'
  properties: Record<string, JsonSchema>
  required: string[]
}

/** As much of JSON Schema as the tool needs. */
export interface JsonSchema {
  type: 'string' | 'integer' | 'array'
  description: string
  enum?: string[]
  items?: { type: 'integer' }
  minItems?: number
  maxItems?: number
  minimum?: number
}

const names: CommandName[] = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename']

/** Of the input of `MemoryTool.run`, and with its `command` of each handler. */
export const memoryToolSchema: MemoryToolSchema = {
  type: 'object',
  properties: {
    command: { type: 'string', enum: names, description: 'What to do' },
    path: text('Of all commands but rename: the file or directory, such as /memories/notes.md'),
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      minItems: 2,
      maxItems: 2,
      description: 'Of view, if wanted: the first and the last line, from 1; -1 is the end',
    },
    file_text: text('Of create: the content of the new file'),
    old_str: text('Of str_replace: the text to replace, which must occur exactly once'),
    new_str: text('Of str_replace: what takes its place; left out, the text is deleted'),
    insert_line: {
      type: 'integer',
      minimum: 0,
      description: 'Of insert: the line after which the text goes; 0 is the beginning',
    },
    insert_text: text('Of insert: the text'),
    old_path: text('Of rename: the file or directory'),
    new_path: text('Of rename: its new path, which must be free'),
  },
  required: ['command'],
}

function text(description: string): JsonSchema {
  return { type: 'string', description }
}
