/** The contents of a file, described for its senders. The rules are the same for bulk import v2 and v3. */
export const csvRules = [
  '**The file** is CSV in UTF-8, separated by commas and quoted as in RFC 4180. Its first row names the columns; `user_id` is required.',
  'Each value is stored in the profile of the row’s user, with the column name as the key. An empty value leaves the key unchanged.',
  'A row may have fewer values than columns: missing values count as empty, so their keys stay unchanged as well.',
  'A row with more values than columns goes to the error file, and so does a row with any other error: nothing of it is applied.',
  'Rows of users who are not registered are errors. `POST /v1/users` registers users.',
].join('\n')

/** The header of an accepted import. */
export const importIdHeader = {
  'X-Import-Id': {
    description: 'ID of the import, for requests of its state. Extension of Sluice.',
    schema: { type: 'string', format: 'uuid' },
    required: true,
  },
}
