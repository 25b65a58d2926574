import { z } from 'zod'
import { exportAnswer, exportView } from '../export.ts'
import { importRequest, importView, uploadDescriptor } from '../import.ts'
import { importList } from '../import-list.ts'
import { limits } from '../limits.ts'
import { valueTypes } from '../value-type.ts'
import type { JsonSchema } from './document-types.ts'
import { profileEntry, profileUpdateAnswer } from './profile-schemas.ts'

/** Returns the JSON Schema of the body of a request (`input`) or an answer (`output`). */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io,
    // Omits the pattern beside a format, which says the same in one word. Omits the range that zod gives every integer,
    // because it is no rule of the API.
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
  description: 'Descriptions of the errors.',
  items: { type: 'string' },
  minItems: 1,
}

const plainError = {
  type: 'object',
  description: 'An error. `code` is present if the endpoint has error codes.',
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
    status: { type: 'string', enum: ['unauthorized', 'forbidden', 'not_found', 'too_many_requests'] },
    error: { type: 'object', properties: { messages }, required: ['messages'], additionalProperties: false },
  },
  required: ['status', 'error'],
  additionalProperties: false,
}

const userId = { type: 'string', minLength: 1, maxLength: limits.userIdLength }

// The API also checks the entries against the registered keys, which a schema cannot express.
const profileUpdateRequest = {
  type: 'object',
  properties: {
    user_id: { ...userId, description: 'A registered user.' },
    user_profiles: {
      type: 'array',
      description: 'If a key occurs more than once, the last entry applies. Each entry must be valid.',
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

const key = { type: 'string', minLength: 1, maxLength: limits.keyLength }
const type = { type: 'string', enum: valueTypes }

const profileKeyRegistration = {
  type: 'object',
  properties: {
    profile_keys: {
      type: 'array',
      description: 'Names that begin with `$`, `user_id` and `SERVICE_ERRORS` are reserved.',
      minItems: 1,
      maxItems: limits.keysPerRequest,
      items: { type: 'object', properties: { key, type }, required: ['key', 'type'] },
    },
  },
  required: ['profile_keys'],
}

const profileKeys = {
  type: 'object',
  properties: {
    profile_keys: {
      type: 'array',
      items: {
        type: 'object',
        properties: { key, type, registered_at: { type: 'string', format: 'date-time' } },
        required: ['key', 'type', 'registered_at'],
        additionalProperties: false,
      },
    },
  },
  required: ['profile_keys'],
  additionalProperties: false,
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

const exportRequest = {
  type: 'object',
  properties: {
    keys: {
      type: ['array', 'null'],
      description: 'The columns after `user_id`, in order. Default: all keys, by name.',
      minItems: 1,
      maxItems: limits.exportKeys,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: limits.keyLength },
    },
  },
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
      description: 'Each column, except `user_id` and `SERVICE_ERRORS`, with the type of its key.',
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

const importListSchema = {
  ...schemaOf(importList, 'output'),
  properties: {
    ...(schemaOf(importList, 'output').properties as JsonSchema),
    imports: { type: 'array', items: { $ref: '#/components/schemas/Import' } },
  },
}

const user = {
  type: 'object',
  properties: {
    user_id: userId,
    profiles: {
      type: 'object',
      description: 'Every value, by key. A datetime is in UTC.',
      additionalProperties: {
        type: 'object',
        properties: { type: { type: 'string', enum: valueTypes }, value: { type: ['string', 'number'] } },
        required: ['type', 'value'],
        additionalProperties: false,
      },
    },
    campaign_target: { type: 'boolean', description: 'False from the start of a deletion.' },
    deletion: {
      description: 'The pending deletion with the earliest dates; null if there is none.',
      anyOf: [
        {
          type: 'object',
          properties: {
            state: { type: 'string', enum: ['accepted', 'started'] },
            accepted_at: { type: 'string', format: 'date-time' },
            starts_at: { type: 'string', format: 'date-time' },
            completes_at: { type: 'string', format: 'date-time' },
          },
          required: ['state', 'accepted_at', 'starts_at', 'completes_at'],
          additionalProperties: false,
        },
        { type: 'null' },
      ],
    },
  },
  required: ['user_id', 'profiles', 'campaign_target', 'deletion'],
  additionalProperties: false,
}

/** The schemas of all bodies. If the API checks a body with a schema, the document shows that schema. */
export const schemas = {
  ImportRequest: schemaOf(importRequest, 'input'),
  UploadDescriptor: schemaOf(uploadDescriptor, 'output'),
  Import: schemaOf(importView, 'output'),
  ImportList: importListSchema,
  ProfileEntry: profileEntry,
  ProfileUpdateRequest: profileUpdateRequest,
  ProfileUpdateAnswer: profileUpdateAnswer,
  User: user,
  UserRegistrationRequest: userRegistrationRequest,
  ProfileKeyRegistration: profileKeyRegistration,
  ProfileKeys: profileKeys,
  DeletionRequest: deletionRequest,
  ExportRequest: exportRequest,
  ExportAnswer: schemaOf(exportAnswer, 'output'),
  Export: schemaOf(exportView, 'output'),
  Accepted: accepted,
  ColumnTypes: columnTypes,
  Health: health,
  Error: plainError,
  NamedError: namedError,
} satisfies Record<string, JsonSchema>

/** Returns a reference to one of the schemas. */
export const schemaRef = (name: keyof typeof schemas): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
