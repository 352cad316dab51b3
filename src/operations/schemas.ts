// The inputs of the operations under their wire names, which are those of the memory tool, and the
// one way in which an input is refused: by the name of the parameter and what it should be.

import { StoreError } from '../errors.ts'
import { z } from '../platform/schema.ts'

/** JSON Schema of an object. */
export type ObjectSchema = { type: 'object'; [keyword: string]: unknown }

export const viewInput = parameters({
  path: pathText('the path of a file or directory'),
  view_range: lineRange().optional(),
})

export const createInput = parameters({
  path: pathText('the path of the new file'),
  file_text: text('the content of the new file'),
})

export const strReplaceInput = parameters({
  path: pathText('the path of the file'),
  old_str: searchText(),
  new_str: text('the text that replaces old_str').optional(),
})

export const insertInput = parameters({
  path: pathText('the path of the file'),
  insert_line: lineNumber(),
  insert_text: text('the text to insert'),
})

export const deleteInput = parameters({
  path: pathText('the path of the file or directory to delete'),
})

export const renameInput = parameters({
  old_path: pathText('the path of the file or directory to rename'),
  new_path: pathText('its new path'),
})

export type ViewInput = z.infer<typeof viewInput>
export type CreateInput = z.infer<typeof createInput>
export type StrReplaceInput = z.infer<typeof strReplaceInput>
export type InsertInput = z.infer<typeof insertInput>
export type DeleteInput = z.infer<typeof deleteInput>
export type RenameInput = z.infer<typeof renameInput>

/** The input, if it is valid. Throws `invalid_input` with the parameter in its details. */
export function parseInput<Input>(schema: z.ZodType<Input>, input: unknown): Input {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const parameter = issue?.path[0]
  const expected = issue?.message ?? 'valid'
  if (typeof parameter !== 'string') throw new StoreError('invalid_input', expected)
  throw invalidParameter(parameter, isMissing(input, parameter), expected)
}

/** The names of the parameters of an input. */
export function fieldsIn(schema: z.ZodType): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

/** What a schema takes, as JSON Schema: what it checks beyond that is in the descriptions. */
export function inputSchemaOf({ input }: { readonly input: z.ZodType }): ObjectSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return { ...schema, type: 'object' }
}

function invalidParameter(parameter: string, missing: boolean, expected: string): StoreError {
  const problem = missing ? 'Missing' : 'Invalid'
  const sentence = `${problem} \`${parameter}\` parameter: it should be ${expected}`
  return new StoreError('invalid_input', sentence, { details: { parameter } })
}

function isMissing(input: unknown, parameter: string): boolean {
  return typeof input === 'object' && input !== null && Reflect.get(input, parameter) === undefined
}

/** The values of fields. */
export type FieldsOf<Shape extends z.ZodRawShape> = z.infer<z.ZodObject<Shape>>

/** Unknown parameters are ignored, so that newer callers work. */
export function parameters<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  const names = Object.keys(shape).join(', ')
  return z.object(shape, { error: `The input should be an object with the parameters ${names}` })
}

// Each field has one sentence, which is its description and its error.

export function pathText(what: string): z.ZodString {
  const expected = `a string, ${what}`
  return z.string({ error: expected }).describe(expected)
}

export function text(what: string): z.ZodString {
  const expected = `a string of well-formed Unicode without NUL characters, ${what}`
  return z
    .string({ error: expected })
    .refine((value) => value.isWellFormed() && !value.includes('\0'), { error: expected })
    .describe(expected)
}

export function objectField(what: string): z.ZodType<object> {
  const expected = `an object, ${what}`
  return z.custom<object>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: expected },
  )
}

export function searchText(): z.ZodString {
  const expected = 'a string that is not empty, the text to replace'
  return z.string({ error: expected }).min(1, { error: expected }).describe(expected)
}

function lineNumber(): z.ZodNumber {
  const expected = 'an integer, the line after which the text is inserted; 0 is the beginning'
  return z
    .number({ error: expected })
    .refine(Number.isInteger, { error: expected })
    .describe(expected)
}

function lineRange(): z.ZodType<readonly [number, number]> {
  const expected =
    'two integers [start, end]: start is at least 1, end at least start, or -1 for the last line'
  const integer = z.number({ error: expected }).refine(Number.isInteger, { error: expected })
  return z
    .tuple([integer, integer], { error: expected })
    .refine(([start, end]) => start >= 1 && (end === -1 || end >= start), { error: expected })
    .describe(expected)
}
