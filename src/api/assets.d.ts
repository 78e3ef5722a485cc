declare module '*/standalone.js' {
  /** Where the embedded file is found at run time. */
  const path: string
  export default path
}
