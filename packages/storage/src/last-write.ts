/**
 * A request that began before files were removed may still write a file for this long afterwards, hours. An upload
 * address is valid for 5 minutes, and an upload takes a day at most. Requests of the service's own processes end
 * sooner.
 */
export const lastWriteHours = 25
