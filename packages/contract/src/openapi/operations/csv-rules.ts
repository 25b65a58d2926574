/** What a file holds, for whoever sends it. The same for both versions. */
export const csvRules = [
  '**The file.** UTF-8 with commas, and quotes as in RFC 4180. Its first row names the columns, one of which is `user_id`.',
  'A value goes into the profile of the row’s user under the name of its column. An empty value leaves that key unchanged.',
  'A row may have fewer values than columns: missing values count as empty, so their keys stay unchanged as well.',
  'A row with more values than columns goes to the error file.',
].join('\n')
