// The memory tool as JSON Schema, for loops that do not know `memory_20250818`: the commands and
// their parameters. One flat object, since not every model's API accepts alternatives. Must not
// check inputs: the schemas of operations/ do.

import type { CommandName } from './commands.ts'

/** The description in the definition of the tool. */
export const memoryToolDescription: string =
  'Your memory: text files below /memories that last from one conversation to the next. View the ' +
  'directory before you begin, and write down what will matter later.'

/**
 * An alias with mutable lists, since it must fit what other libraries call a JSON Schema: an
 * object of any properties, which TypeScript does not take an interface for.
 */
export type MemoryToolSchema = {
  type: 'object'
  properties: Record<string, JsonSchema>
  required: string[]
}

/** The part of JSON Schema that the tool needs. */
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

/** The schema of the input of `MemoryTool.run`, and of each handler with its `command`. */
export const memoryToolSchema: MemoryToolSchema = {
  type: 'object',
  properties: {
    command: { type: 'string', enum: names, description: 'What to do' },
    path: text('For all commands but rename: the file or directory, such as /memories/notes.md'),
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      minItems: 2,
      maxItems: 2,
      description: 'For view, optional: the first and the last line, from 1; -1 is the end',
    },
    file_text: text('For create: the content of the new file'),
    old_str: text('For str_replace: the text to replace, which must occur exactly once'),
    new_str: text('For str_replace: the replacement; if omitted, the text is deleted'),
    insert_line: {
      type: 'integer',
      minimum: 0,
      description: 'For insert: the line after which the text is inserted; 0 is the beginning',
    },
    insert_text: text('For insert: the text'),
    old_path: text('For rename: the file or directory'),
    new_path: text('For rename: its new path, which must be free'),
  },
  required: ['command'],
}

function text(description: string): JsonSchema {
  return { type: 'string', description }
}
