/** Fixed limits (service.md, Limits). Those that an operator may change are settings in `@sluice/config`. */
export const limits = {
  /** Largest upload by content type, bytes. */
  uploadBytes: { 'text/csv': 2 ** 30, 'application/gzip': 100 * 2 ** 20 },
  /** How long the pre-signed upload address is good for, ms. */
  uploadWindow: 5 * 60_000,
  /** How long a link to an error file is good for, ms (design.md §3, Error file). */
  errorFileLink: 7 * 24 * 60 * 60_000,
  /** Characters (Unicode code points) of a user ID. */
  userIdLength: 255,
  /** User IDs in one registration request. */
  userIdsPerRequest: 10_000,
} as const
