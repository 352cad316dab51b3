// What an operation is, and those of the memory tool: what actions.ts does, with the schemas of the
// inputs, for adapters whose inputs come from outside.

import type { z } from 'zod'
import type { Applied } from '../store/changes/apply.ts'
import * as actions from './actions.ts'
import type { Action, EditResult, OperationContext, ViewResult } from './actions.ts'
import * as schemas from './schemas.ts'
import type {
  CreateInput,
  DeleteInput,
  InsertInput,
  RenameInput,
  StrReplaceInput,
  ViewInput,
} from './schemas.ts'

/** `run` expects an input that `parseInput` gave. */
export interface Operation<Input, Result, Context = OperationContext> extends Action<
  Input,
  Result,
  Context
> {
  readonly input: z.ZodType<Input>
}

export const view: Operation<ViewInput, ViewResult> = { ...actions.view, input: schemas.viewInput }

export const create: Operation<CreateInput, Applied> = {
  ...actions.create,
  input: schemas.createInput,
}

export const strReplace: Operation<StrReplaceInput, EditResult> = {
  ...actions.strReplace,
  input: schemas.strReplaceInput,
}

export const insert: Operation<InsertInput, Applied> = {
  ...actions.insert,
  input: schemas.insertInput,
}

export const remove: Operation<DeleteInput, Applied> = {
  ...actions.remove,
  input: schemas.deleteInput,
}

export const rename: Operation<RenameInput, Applied> = {
  ...actions.rename,
  input: schemas.renameInput,
}
