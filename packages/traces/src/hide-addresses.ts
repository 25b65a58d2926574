import type { SpanProcessor } from '@opentelemetry/sdk-trace'

/** Attributes that hold an address or a part of it, by their present and their earlier names. */
const ofAddresses = ['url.full', 'url.path', 'url.query', 'http.url', 'http.target']

/**
 * Removes addresses from every span before it ends. Paths hold the secrets of sign-in and error-file links, and queries hold
 * signatures of pre-signed requests. A list of secrets to hide would miss the next one; spans name routes instead.
 */
export const hideAddresses: SpanProcessor = {
  onStart() {},
  onEnding({ attributes }) {
    for (const name of ofAddresses) delete attributes[name]
  },
  onEnd() {},
  async forceFlush() {},
  async shutdown() {},
}
