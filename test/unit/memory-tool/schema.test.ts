// The JSON Schema of the memory tool has exactly the parameters of the operations.

import type Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { commands } from '../../../src/memory-tool/commands.ts'
import { memoryToolSchema } from '../../../src/memory-tool/schema.ts'
import * as operations from '../../../src/operations/operations.ts'

const { create, insert, remove, rename, strReplace, view } = operations
const inputs = [view, create, strReplace, insert, remove, rename].map(({ input }) => {
  return z.toJSONSchema(input, { unrepresentable: 'any', io: 'input' })
})

test('it names each command, and each of their parameters', () => {
  const { command, ...parameters } = memoryToolSchema.properties
  expect(command?.enum?.toSorted()).toEqual(Object.keys(commands).toSorted())
  const known = inputs.flatMap(({ properties = {} }) => Object.keys(properties))
  expect(Object.keys(parameters).toSorted()).toEqual([...new Set(known)].toSorted())
  expect(memoryToolSchema.required).toEqual(['command'])
})

test('its types are those that the operations accept', () => {
  const typeOf = (name: string): string | undefined => {
    const type = memoryToolSchema.properties[name]?.type
    return type === 'integer' ? 'number' : type
  }
  for (const { properties = {} } of inputs) {
    for (const [name, schema] of Object.entries(properties)) {
      expect(schema).toMatchObject({ type: typeOf(name) })
    }
  }
})

test('it fits the types that other libraries have for a JSON Schema', () => {
  const parameters: Record<string, unknown> = memoryToolSchema
  const { required: lists }: { required?: string[] } = memoryToolSchema
  const schema: Anthropic.Tool.InputSchema = memoryToolSchema
  expect([parameters, lists]).toEqual([schema, schema.required])
})
