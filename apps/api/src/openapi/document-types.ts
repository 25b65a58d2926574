/** A JSON Schema (2020-12), as OpenAPI 3.1 uses it. */
export type JsonSchema = Readonly<Record<string, unknown>>

interface Example {
  summary?: string
  value: unknown
}

export interface Content {
  schema: JsonSchema
  examples: Record<string, Example>
}

export interface Header {
  description: string
  schema: JsonSchema
  required?: boolean
}

export interface Response {
  description: string
  headers?: Record<string, Header>
  /** By media type. An answer without content has no body. */
  content?: Record<string, Content>
}

export interface Parameter {
  name: string
  in: 'path' | 'header' | 'query'
  required?: true
  description: string
  schema: JsonSchema
  example: string | number
}

/** An example of a request in one language, as tools for OpenAPI documents show it. */
export interface CodeSample {
  lang: string
  label: string
  source: string
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  deprecated?: true
  /** This implementation adds the operation to the documented service. */
  'x-sluice-extension'?: true
  security: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { required: boolean; description: string; content: Record<string, Content> }
  /** By status. */
  responses: Record<string, Response>
  'x-codeSamples'?: CodeSample[]
}

/** The operations of one path, by method. */
type PathItem = Partial<Record<'get' | 'post' | 'patch' | 'delete', Operation>>

/** The part of OpenAPI 3.1 that Sluice uses. */
export interface ApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, PathItem>
  components: {
    schemas: Record<string, JsonSchema>
    securitySchemes: Record<string, { type: 'apiKey'; in: 'header'; name: string; description: string }>
  }
}
