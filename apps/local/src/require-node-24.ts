// Imported first: what the other modules use is missing in older versions of Node, and their errors don't say so.
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(`Sluice needs Node 24, and this is ${process.version}. Start it with npm start, which brings its own`)
  process.exit(1)
}
