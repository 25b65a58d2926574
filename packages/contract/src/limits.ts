const userIdLength = 255
const userIdsPerRequest = 10_000

/**
 * Room for the greatest number of the longest user IDs in UTF-8, with quotes and commas, and for the other members,
 * bytes.
 */
const userIdListBytes = userIdsPerRequest * (4 * userIdLength + '"",'.length) + 1024

/** Fixed limits (service.md, Limits). Limits that an operator may change are settings in `@sluice/config`. */
export const limits = {
  /** Largest upload by content type, bytes. */
  uploadBytes: { 'text/csv': 2 ** 30, 'application/gzip': 100 * 2 ** 20 },
  /** Largest body of a v2 bulk import of any type, bytes (design.md §3, Sizes). */
  uploadBytesV2: 100 * 2 ** 20,
  /** Largest dashboard upload of any type, bytes. */
  uploadBytesDashboard: 150 * 2 ** 20,
  /** Largest bucket upload of any type, bytes. */
  bucketBytes: 2 ** 30,
  /** Largest header of a file, bytes without byte order mark and line break. */
  headerBytes: 102_400,
  /** Longest record of a file, bytes without its LF (design.md §3, Width of a file). */
  recordBytes: 2 ** 20,
  /** Maximum number of access keys of an app. */
  accessKeys: 20,
  /** Largest JSON body of a route without a limit of its own, bytes. */
  jsonBytes: 2 ** 20,
  /**
   * Maximum number of values and keys in a JSON body. They have a limit because an empty array takes 2 bytes of the
   * body, but 50 of memory.
   */
  jsonValues: 2 ** 17,
  /** Maximum number of messages in an answer. Otherwise a hostile body could cause an answer of many times its size. */
  messagesPerAnswer: 100,
  /** Largest body of a registration of users or a deletion request, bytes. */
  userIdListBytes,
  /** How long the pre-signed upload address is valid, ms (service.md, States and transitions). */
  uploadWindowMs: 5 * 60_000,
  /** How long a link to an error file is valid, days (design.md §3, Error file). */
  errorFileLinkDays: 7,
  /** Maximum number of characters (Unicode code points) of a user ID. */
  userIdLength,
  /** Maximum number of characters (Unicode code points) of a profile key, and so of a column name. */
  keyLength: 255,
  /** Maximum number of characters (Unicode code points) of a file's name. */
  fileNameLength: 255,
  /** Maximum number of characters (Unicode code points) of a clear marker. */
  clearMarkerLength: 32,
  /** Maximum number of characters (Unicode code points) of a key's description. */
  keyDescriptionLength: 255,
  /** Maximum number of keys in one registration of keys. */
  keysPerRequest: 500,
  /** Maximum number of characters (Unicode code points) of a string value. */
  stringLength: 255,
  /** Maximum number of imports on a page of the list, and the number without `limit`. */
  importsPerPage: 100,
  importsPerPageByDefault: 20,
  waitSeconds: 30,
  /** Maximum number of columns of an export besides `user_id`. Postgres returns at most 1,664 columns. */
  exportKeys: 1_600,
  /** Maximum number of user IDs in one registration or deletion request. */
  userIdsPerRequest,
  /** Maximum number of webhook endpoints of an app. */
  webhookEndpoints: 10,
  /** Maximum number of characters of a webhook endpoint's URL. */
  webhookUrlLength: 2_048,
  /** Maximum number of deliveries that wait for one webhook endpoint. Further events are recorded as failed. */
  webhookWaiting: 5_000,
} as const
