import { z } from 'zod'
import { importRequest, importView, uploadDescriptor } from '../import.ts'
import { limits } from '../limits.ts'
import { valueTypes } from '../value-type.ts'
import type { JsonSchema } from './document-types.ts'
import { profileEntry, profileUpdateAnswer } from './profile-schemas.ts'

/** The JSON Schema of what an endpoint takes (`input`) or answers (`output`). */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io,
    // A format says what its pattern does, in one word; the range of JavaScript's integers says nothing of ours.
    override({ jsonSchema }) {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return json
}

const messages = {
  type: 'array',
  description: 'What is wrong, in words.',
  items: { type: 'string' },
  minItems: 1,
}

const plainError = {
  type: 'object',
  description: 'An error. `code` is there where the endpoint has codes.',
  properties: {
    error: {
      type: 'object',
      properties: { code: { type: 'integer', enum: [1001, 1002, 1003, 2001] }, messages },
      required: ['messages'],
      additionalProperties: false,
    },
  },
  required: ['error'],
  additionalProperties: false,
}

const namedError = {
  type: 'object',
  description: 'An error that is the same at every endpoint.',
  properties: {
    status: { type: 'string', enum: ['unauthorized', 'forbidden', 'not_found', 'too_many_requests', 'gone'] },
    error: { type: 'object', properties: { messages }, required: ['messages'], additionalProperties: false },
  },
  required: ['status', 'error'],
  additionalProperties: false,
}

const userId = { type: 'string', minLength: 1, maxLength: limits.userIdLength }

// Its entries are checked against the registered keys as well, by hand: this is what can be said without them.
const profileUpdateRequest = {
  type: 'object',
  properties: {
    user_id: { ...userId, description: 'A registered user.' },
    user_profiles: {
      type: 'array',
      description: 'Where a key occurs more than once, the last entry counts; each must be valid.',
      minItems: 1,
      items: { $ref: '#/components/schemas/ProfileEntry' },
    },
  },
  required: ['user_id', 'user_profiles'],
}

const userRegistrationRequest = {
  type: 'object',
  properties: { user_ids: { type: 'array', minItems: 1, maxItems: limits.userIdsPerRequest, items: userId } },
  required: ['user_ids'],
}

const deletionRequest = {
  type: 'object',
  properties: {
    identity_type: { type: 'string', const: 'user_id' },
    identity_value: {
      description: 'One user ID or several.',
      anyOf: [{ type: 'array', minItems: 1, maxItems: limits.userIdsPerRequest, items: userId }, userId],
    },
  },
  required: ['identity_type', 'identity_value'],
}

const accepted = {
  type: 'object',
  properties: { status: { type: 'string', const: 'accepted' } },
  required: ['status'],
  additionalProperties: false,
}

const columnTypes = {
  type: 'object',
  properties: {
    user_profile: {
      type: 'object',
      description: 'Each column but `user_id` and the reserved one, with the type of its key.',
      additionalProperties: {
        type: 'object',
        properties: { type: { type: 'string', enum: valueTypes } },
        required: ['type'],
        additionalProperties: false,
      },
    },
  },
  required: ['user_profile'],
  additionalProperties: false,
}

const health = {
  type: 'object',
  properties: { status: { type: 'string', enum: ['ok', 'ready'] } },
  required: ['status'],
  additionalProperties: false,
}

/** The schemas of all bodies, from those that the endpoints check with where there is one. */
export const schemas = {
  ImportRequest: schemaOf(importRequest, 'input'),
  UploadDescriptor: schemaOf(uploadDescriptor, 'output'),
  Import: schemaOf(importView, 'output'),
  ProfileEntry: profileEntry,
  ProfileUpdateRequest: profileUpdateRequest,
  ProfileUpdateAnswer: profileUpdateAnswer,
  UserRegistrationRequest: userRegistrationRequest,
  DeletionRequest: deletionRequest,
  Accepted: accepted,
  ColumnTypes: columnTypes,
  Health: health,
  Error: plainError,
  NamedError: namedError,
} satisfies Record<string, JsonSchema>

/** A reference to one of them. */
export const schemaRef = (name: keyof typeof schemas): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
