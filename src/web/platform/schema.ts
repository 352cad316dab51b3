// A subset of zod for the inputs of the memory tool, with the same results: zod would be a
// sixth of the bundle. There is no JSON Schema of an input here.

type Test = (value: unknown) => boolean

interface How {
  readonly error: string
}

interface Issue {
  readonly path: readonly string[]
  readonly message: string
}

type Checked =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } }

class Schema {
  readonly #accepts: Test
  readonly #error: string

  constructor(accepts: Test, { error }: How) {
    this.#accepts = accepts
    this.#error = error
  }

  refine(further: Test, how: How): Schema {
    return new Schema((value) => this.#accepts(value) && further(value), how)
  }

  min(length: number, how: How): Schema {
    return this.refine((value) => typeof value === 'string' && value.length >= length, how)
  }

  describe(): this {
    return this
  }

  optional(): Schema {
    const accepts: Test = (value) => value === undefined || this.#accepts(value)
    return new Schema(accepts, { error: this.#error })
  }

  safeParse(data: unknown): Checked {
    if (this.#accepts(data)) return { success: true, data }
    return { success: false, error: { issues: [{ path: [], message: this.#error }] } }
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

class ObjectSchema extends Schema {
  readonly shape: Readonly<Record<string, Schema>>

  constructor(shape: Readonly<Record<string, Schema>>, how: How) {
    super(isObject, how)
    this.shape = shape
  }

  override safeParse(value: unknown): Checked {
    if (!isObject(value)) return super.safeParse(value)
    const issues: Issue[] = []
    const data: Record<string, unknown> = {}
    for (const [name, schema] of Object.entries(this.shape)) {
      const field: unknown = Reflect.get(value, name)
      const checked = schema.safeParse(field)
      if (checked.success) data[name] = field
      else {
        for (const { message } of checked.error.issues) issues.push({ path: [name], message })
      }
    }
    return issues.length === 0 ? { success: true, data } : { success: false, error: { issues } }
  }
}

export const z = {
  ZodObject: ObjectSchema,
  object: (shape: Readonly<Record<string, Schema>>, how: How): ObjectSchema =>
    new ObjectSchema(shape, how),
  string: (how: How): Schema => new Schema((value) => typeof value === 'string', how),
  number: (how: How): Schema => new Schema(Number.isFinite, how),
  custom: (accepts: Test, how: How): Schema => new Schema(accepts, how),
  tuple(parts: readonly Schema[], how: How): Schema {
    const accepts = (value: unknown): boolean =>
      Array.isArray(value) &&
      value.length === parts.length &&
      parts.every((part, index) => part.safeParse(value[index]).success)
    return new Schema(accepts, how)
  },
}
