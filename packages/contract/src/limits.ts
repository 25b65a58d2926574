/** Fixed limits (service.md, Limits). Those that an operator may change are settings in `@sluice/config`. */
export const limits = {
  /** Largest upload by content type, bytes. */
  uploadBytes: { 'text/csv': 2 ** 30, 'application/gzip': 100 * 2 ** 20 },
  /** Largest body of a v2 bulk import, bytes, whatever its type (design.md §3, Sizes). */
  uploadBytesV2: 100 * 2 ** 20,
  /** Largest file that is uploaded in the dashboard, bytes, whatever its type (service.md, Limits). */
  uploadBytesDashboard: 150 * 2 ** 20,
  /** Largest file that is put into the bucket, bytes, whatever its type. */
  bucketBytes: 2 ** 30,
  /** Access keys of an app. */
  accessKeys: 20,
  /** Largest JSON body, bytes, where the route says nothing else. */
  jsonBytes: 2 ** 20,
  /** Values and keys in a JSON body: an empty array takes two bytes of the body, but 50 of memory. */
  jsonValues: 2 ** 17,
  /** Largest body of the first request of an import, bytes: its fields have 200 at most. */
  importRequestBytes: 2 ** 14,
  /** Largest body of a registration of users, bytes: room for as many IDs as long as they may be, in UTF-8. */
  userRegistrationBytes: 10_000 * (4 * 255 + '"",'.length) + 1024,
  /** The same for a deletion request. */
  deletionBytes: 10_000 * (4 * 255 + '"",'.length) + 1024,
  /** How long the pre-signed upload address is good for, ms. */
  uploadWindow: 5 * 60_000,
  /** How long a link to an error file is good for, days (design.md §3, Error file). */
  errorFileLinkDays: 7,
  /** Characters (Unicode code points) of a user ID. */
  userIdLength: 255,
  /** Characters (Unicode code points) of a profile key and of a string value. */
  keyLength: 255,
  stringLength: 255,
  /** User IDs in one registration or deletion request. */
  userIdsPerRequest: 10_000,
} as const
