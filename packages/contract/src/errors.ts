/** An answer that is not a success: the HTTP status and the JSON body (service.md, Errors). */
export interface ErrorAnswer {
  status: number
  body: { status?: string; error: { code?: number; messages: string[] } }
}

/** Every error that an endpoint answers, in one list. */
export const errors = {
  unauthorized: (): ErrorAnswer => named(401, 'unauthorized', 'The header X-Service-Token is missing.'),
  forbidden: (): ErrorAnswer => named(403, 'forbidden', 'The API token is invalid.'),
  notFound: (): ErrorAnswer => named(404, 'not_found', 'Not found.'),
  linkExpired: (): ErrorAnswer => named(410, 'gone', 'The link has expired.'),
  badRequest: (...messages: string[]): ErrorAnswer => ({ status: 400, body: { error: { messages } } }),
  malformedJson: (): ErrorAnswer => errors.badRequest('The request body is not valid JSON.'),
  bodyTooLarge: (limit: number): ErrorAnswer => ({
    status: 413,
    body: { error: { messages: [`The request body is over ${limit} bytes.`] } },
  }),
  unsupportedContentType: (given: string | undefined): ErrorAnswer => ({
    status: 415,
    body: { error: { messages: [`The given content type is not supported: ${given ?? 'none'}`] } },
  }),
  internal: (): ErrorAnswer => ({
    status: 500,
    body: { error: { messages: ['Something went wrong on our side. Please try again.'] } },
  }),
  unavailable: (): ErrorAnswer => ({
    status: 503,
    body: { error: { messages: ['The service is not ready. Please try again.'] } },
  }),
}

function named(status: number, name: string, message: string): ErrorAnswer {
  return { status, body: { status: name, error: { messages: [message] } } }
}
