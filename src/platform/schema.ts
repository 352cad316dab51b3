// The library that describes and checks the inputs of operations.

export { z } from 'zod'
