package sqlite

// Kill drops the process's lock without any cleanup, as the end of a process does.
func (s *Store) Kill() {
	_ = s.lock.free(s.processByte)
	s.closer.Do(func() {
		close(s.stop)
		<-s.ended
		s.closed = s.release()
	})
}
